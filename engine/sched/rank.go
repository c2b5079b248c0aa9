package sched

import (
	"context"
	"fmt"
	"slices"
)

// top returns how many of a wanted row's largest logits q needs, 0 for all. A row
// that is not the one a token is drawn from is for log-probabilities.
func (s *Scheduler) top(q *sequence, drawn bool) int {
	if s.ranker == nil || q.Mask != nil || !drawn {
		return 0
	}
	return q.Sample.Needs(len(q.barred()))
}

// call runs the batch, and has rows ranked where that is enough.
func (s *Scheduler) call(ctx context.Context) (results [][]float32, err error) {
	s.rankings = nil
	if !slices.ContainsFunc(s.tops, func(n int) bool { return n > 0 }) {
		return s.o.Exec.Run(ctx, &s.batch, s.o.Cache)
	}
	results, s.rankings, err = s.ranker.RunRanked(ctx, &s.batch, s.o.Cache, s.tops)
	if err == nil && len(s.rankings) != len(s.tops) {
		err = fmt.Errorf("sched: the engine's rankings are %d for %d rows", len(s.rankings), len(s.tops))
	}
	return results, err
}
