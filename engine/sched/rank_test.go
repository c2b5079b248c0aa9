package sched

import (
	"strings"
	"testing"
	"testing/synctest"

	"quern/engine/sample"
	"quern/engine/token"
)

// Requests that rankings suffice for, and those they do not, answer in one batch as
// each does alone.
func TestRanked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newFake(t, small)
		e.most = 10
		start(t, s)
		requests := []Request{
			{Max: 20},
			{Max: 20, Sample: sample.Params{Temperature: 1, TopK: 5, TopP: 0.9, Seed: 1}, N: 2},
			{Max: 20, Sample: sample.Params{Temperature: 1, Seed: 2}},
			{Max: 20, Sample: sample.Params{Temperature: 0.8, TopK: 9, Seed: 3}, EOG: []token.ID{0, 4}, IgnoreEOS: true},
			{Max: 20, Sample: sample.Params{Temperature: 1, TopK: 5, RepeatPenalty: 1.3, Seed: 4}},
			{Max: 20, Sample: sample.Params{Logprobs: true, Top: 3}},
			{Max: 20, Mask: func() sample.Mask { return &alphabet{left: 5} }},
			{Max: 20, Mask: func() sample.Mask { return &alphabet{left: 15, sure: true} }, Sample: sample.Params{Temperature: 1, TopK: 4, Seed: 5}, N: 2},
			{Max: 20, Mask: func() sample.Mask { return &alphabet{left: 15} }, EOG: []token.ID{0, 4}, IgnoreEOS: true},
			{Max: 20, PromptLogprobs: true},
		}
		var streams []*Stream
		for i := range requests {
			requests[i].Prompt = prompt(7 + i)
			streams = append(streams, submit(t, s, requests[i]))
		}
		for i, st := range streams {
			got, _, err := collect(st)
			if err != nil {
				t.Fatal(err)
			}
			for k := range got {
				if want := oracle(&s.o, requests[i], k); !got[k].equal(want) {
					t.Errorf("request %d, sequence %d: got %v, want %v", i, k, got[k], want)
				}
			}
		}
		if e.ranked == 0 || e.whole == 0 || e.masked == 0 {
			t.Errorf("%d rows were ranked, %d by masks, and %d asked for whole; want some of each", e.ranked, e.masked, e.whole)
		}
	})
}

// A request whose logits the Exec does not give fails and says so.
func TestRowNotGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newFake(t, small)
		e.kept = 1
		start(t, s)
		_, _, err := collect(submit(t, s, Request{Prompt: prompt(3), Max: 2}))
		if err == nil || !strings.Contains(err.Error(), "no logits of wanted row 0 of 1") {
			t.Errorf("got %v, want the row that is missing", err)
		}
	})
}
