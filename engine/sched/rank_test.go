package sched

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// A rankingExec gives rankings as a device does, and spoils the logits that need
// not be given.
type rankingExec struct {
	*fakeExec
	most   int // that it ranks
	ranked int // rows
	whole  int // rows asked for whole
}

func (e *rankingExec) RunRanked(ctx context.Context, in *graph.Batch, kv graph.Cache, top []int) ([][]float32, []graph.Ranking, error) {
	if len(top) != len(in.Want) {
		return nil, nil, fmt.Errorf("%d rows to rank of %d", len(top), len(in.Want))
	}
	out, err := e.compute(in, kv)
	if err != nil {
		return nil, nil, err
	}
	rankings := make([]graph.Ranking, len(top))
	for i, n := range top {
		row := out[0][i*fakeVocab : (i+1)*fakeVocab]
		if n == 0 {
			e.whole++
		}
		if n == 0 || n > e.most || n >= fakeVocab {
			continue
		}
		e.ranked++
		ids := make([]int32, fakeVocab)
		for k := range ids {
			ids[k] = int32(k)
		}
		slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b)) })
		ids = ids[:min(n+i%3, fakeVocab)]
		for _, id := range ids {
			rankings[i].Logits = append(rankings[i].Logits, row[id])
		}
		rankings[i].IDs = ids
		for k := range row {
			row[k] = float32(math.NaN())
		}
	}
	e.read(in, func(want int) bool { return rankings[want].IDs == nil })
	return out, rankings, nil
}

// ranking makes s use rankings of at most so many.
func ranking(s *Scheduler, e *fakeExec, most int) *rankingExec {
	r := &rankingExec{fakeExec: e, most: most}
	s.o.Exec, s.ranker = r, r
	return r
}

// Requests that rankings suffice for, and those they do not, answer in one batch as
// each does alone.
func TestRanked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newFake(t, small)
		x := ranking(s, e, 10)
		start(t, s)
		requests := []Request{
			{Max: 20},
			{Max: 20, Sample: sample.Params{Temperature: 1, TopK: 5, TopP: 0.9, Seed: 1}, N: 2},
			{Max: 20, Sample: sample.Params{Temperature: 1, Seed: 2}},
			{Max: 20, Sample: sample.Params{Temperature: 0.8, TopK: 9, Seed: 3}, EOG: []token.ID{0, 4}, IgnoreEOS: true},
			{Max: 20, Sample: sample.Params{Temperature: 1, TopK: 5, RepeatPenalty: 1.3, Seed: 4}},
			{Max: 20, Sample: sample.Params{Logprobs: true, Top: 3}},
			{Max: 20, Mask: func() sample.Mask { return &alphabet{left: 5} }},
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
		if x.ranked == 0 || x.whole == 0 {
			t.Errorf("%d rows were ranked and %d asked for whole; want some of both", x.ranked, x.whole)
		}
	})
}
