package sched

import (
	"cmp"
	"testing"
	"testing/synctest"

	"quern/engine/sample"
	"quern/engine/token"
)

// TestForced: tokens that a mask leaves no choice about are part of the reply, in order, and
// cost no steps of their own. The reply is that of a sequence that was given them one by one.
func TestForced(t *testing.T) {
	// A reply of 34 is 6 drawn tokens, 10 forced, 6 drawn, 10 forced, 2 drawn.
	mask := func(at int) func() sample.Mask {
		return func() sample.Mask { return &alphabet{n: at, left: 34, sure: true} }
	}
	for _, tt := range []struct {
		name                  string
		r                     Request
		depth                 int
		tokens, forced, steps int
		reason                Reason
		stop                  token.ID
	}{
		{name: "whole", r: Request{Mask: mask(0)}, tokens: 34, forced: 20, steps: 14, reason: Stop, stop: token.None},
		{name: "drawn at random", r: Request{Mask: mask(0), Sample: sample.Params{Temperature: 1, Seed: 2}}, tokens: 34, forced: 20, steps: 14, reason: Stop, stop: token.None},
		{name: "penalties", r: Request{Mask: mask(0), Sample: sample.Params{RepeatPenalty: 1.3, PresencePenalty: 1}}, tokens: 34, forced: 20, steps: 14, reason: Stop, stop: token.None},
		{name: "two replies", r: Request{Mask: mask(0), N: 2, Sample: sample.Params{Temperature: 1}}, tokens: 68, forced: 40, steps: 14, reason: Stop, stop: token.None},
		{name: "at the beginning", r: Request{Mask: mask(6)}, tokens: 34, forced: 22, steps: 13, reason: Stop, stop: token.None},
		{name: "as many at a time as a reader may be behind", r: Request{Mask: mask(0)}, depth: 4, tokens: 34, forced: 20, steps: 14 + 2*2, reason: Stop, stop: token.None},
		{name: "log-probabilities", r: Request{Mask: mask(0), Sample: sample.Params{Logprobs: true}}, tokens: 34, steps: 34, reason: Stop, stop: token.None},
		{name: "cut within", r: Request{Mask: mask(0), Max: 9}, tokens: 9, forced: 3, steps: 6, reason: Length, stop: token.None},
		{name: "a stop token within", r: Request{Mask: mask(0), StopIDs: []token.ID{1 + 8*7%30}}, tokens: 8, forced: 2, steps: 6, reason: Stop, stop: 1 + 8*7%30},
		// It is barred before the 12th token, so another is drawn in its place, and those
		// behind follow from a step of their own.
		{name: "a barred token within", r: Request{Mask: mask(0), Min: 12, Max: 14, StopIDs: []token.ID{1 + 8*7%30}}, tokens: 14, forced: 7, steps: 8, reason: Length, stop: token.None},
		{name: "a biased token within", r: Request{Mask: mask(0), Max: 14, Sample: sample.Params{Bias: map[token.ID]float32{1 + 8*7%30: -100}}}, tokens: 14, forced: 7, steps: 7, reason: Length, stop: token.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := small
				o.StreamDepth = cmp.Or(tt.depth, 64) // or steps would depend on when the reader runs
				s, e := newFake(t, o)
				start(t, s)
				tt.r.Prompt, tt.r.EOG, tt.r.IgnoreEOS = prompt(9), []token.ID{0}, true
				got, _, err := collect(submit(t, s, tt.r))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // until the last token is counted too
				n := 0
				for i := range got {
					if want := oracle(&s.o, tt.r, i); !got[i].equal(want) || got[i].reason != tt.reason || got[i].stopID != tt.stop {
						t.Errorf("sequence %d: got %v, want %v, which ends by %s with %d", i, got[i], want, tt.reason, tt.stop)
					}
					n += len(got[i].tokens)
				}
				more := tt.depth > 0 && e.steps > tt.steps // the reader is late
				if f := int(s.Stats().ForcedTokens); n != tt.tokens || f != tt.forced || e.steps != tt.steps && !more {
					t.Errorf("%d tokens, %d of them forced, in %d steps; want %d, %d, %d", n, f, e.steps, tt.tokens, tt.forced, tt.steps)
				}
			})
		})
	}
}

// TestForcedAllocateNothing: nor do steps of several rows.
func TestForcedAllocateNothing(t *testing.T) {
	one := newFlat(t, 8, func(r *Request) {
		r.EOG, r.Mask = nil, func() sample.Mask { return &alphabet{left: 1 << 30, sure: true} }
	})
	if n := testing.AllocsPerRun(300, one); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}
