package sched

import (
	"context"
	"errors"
	"slices"
)

// Requests in the background have a lane of their own, behind all others: they are admitted
// when nobody else waits, and leave when somebody does who finds no slot or no blocks. What
// they have drawn stays, as with every sequence that is preempted, so their replies are the
// same. They do not count against the queue.
//
// Of a step that others are in they have what a beside says. A step that is theirs alone is given
// up when a request comes, so that this does not wait for it: they lose that step and no
// more, since rows may be computed twice. States may not; models that have them make short
// steps instead.

// errGivenUp ends a step of the background.
var errGivenUp = errors.New("sched: another request came")

// lend returns the context of the step under way, which Submit may end if all of it is in the
// background, and whether it may begin: not if a request has come meanwhile.
func (s *Scheduler) lend(ctx context.Context) (context.Context, bool) {
	if s.o.States || slices.ContainsFunc(s.steps, func(p stepped) bool { return !p.q.Background }) {
		return ctx, true
	}
	s.box.Lock()
	defer s.box.Unlock()
	if len(s.box.jobs) > 0 {
		return ctx, false
	}
	ctx, s.box.giveUp = context.WithCancelCause(ctx)
	return ctx, true
}

// back ends what lend began, with the step's error. It says whether the step was given up
// before anything was drawn.
func (s *Scheduler) back(lent context.Context, err error) bool {
	s.box.Lock()
	defer s.box.Unlock()
	if s.box.giveUp == nil {
		return false
	}
	s.box.giveUp(nil)
	s.box.giveUp = nil
	return err != nil && context.Cause(lent) == errGivenUp && !slices.Contains(s.draws.done, true)
}

// undo leaves the sequences of a step that was given up as they were before it.
func (s *Scheduler) undo() {
	for _, p := range s.steps {
		if p.q.state == running && len(p.q.draft) > 0 {
			p.q.draft = p.q.draft[:0]
			s.trim(p.q)
		}
	}
	for i := range s.draws.all {
		// A Mask that was asked for already is that of the sequence.
		if d := &s.draws.all[i]; d.index == d.q.index {
			d.q.sampler = d.sampler
		}
	}
}

// foreground is how many of list, which is in order, are not in the background.
func foreground(list []*sequence) int {
	n := len(list)
	for n > 0 && list[n-1].Background {
		n--
	}
	return n
}

// yield sends the newest sequence in the background back to wait, for q. It says whether
// there was one.
func (s *Scheduler) yield(q *sequence) bool {
	n := len(s.running)
	if q.Background || n == 0 || !s.running[n-1].Background {
		return false
	}
	s.preempt(s.running[n-1])
	return true
}

// uncount takes q off the count of those that wait for their first slot.
func (s *Scheduler) uncount(q *sequence) {
	if !q.seen && !q.Background {
		s.fresh--
	}
}
