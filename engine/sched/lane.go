package sched

import (
	"context"
	"errors"
	"slices"
)

// Requests in the background have a lane of their own, behind all others: they are admitted
// when no other request waits, and preempted for one that finds no slot or no blocks. Their
// tokens stay, as with every sequence that is preempted, so their replies are the
// same. They do not count against the queue.
//
// Their share of a step with foreground requests is that of a beside. A step of theirs alone is
// aborted when a request arrives, so that this does not wait for it: only that step is lost,
// since rows may be computed twice. States may not; models that have them make short
// steps instead.

// errAborted aborts a step of the background.
var errAborted = errors.New("sched: another request came")

// abortable returns the context of the step under way, which Submit cancels if all of the step is in the
// background, and whether the step may begin: not if a request has arrived meanwhile.
func (s *Scheduler) abortable(ctx context.Context) (context.Context, bool) {
	if s.o.States || slices.ContainsFunc(s.steps, func(p stepped) bool { return !p.q.Background }) {
		return ctx, true
	}
	s.box.Lock()
	defer s.box.Unlock()
	if len(s.box.jobs) > 0 {
		return ctx, false
	}
	ctx, s.box.abort = context.WithCancelCause(ctx)
	return ctx, true
}

// aborted ends the context of abortable, with the step's error. It reports whether the step was aborted
// before anything was drawn.
func (s *Scheduler) aborted(step context.Context, err error) bool {
	s.box.Lock()
	defer s.box.Unlock()
	if s.box.abort == nil {
		return false
	}
	s.box.abort(nil)
	s.box.abort = nil
	return err != nil && context.Cause(step) == errAborted && !slices.Contains(s.draws.done, true)
}

// undo restores the sequences of a step that was aborted.
func (s *Scheduler) undo() {
	for _, p := range s.steps {
		if p.q.state == running && len(p.q.draft) > 0 {
			p.q.draft = p.q.draft[:0]
			s.trim(p.q)
		}
	}
	for i := range s.draws.all {
		// A Mask that was made already stays the sequence's.
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

// yield preempts the newest sequence in the background, for q. It reports whether
// there was one.
func (s *Scheduler) yield(q *sequence) bool {
	n := len(s.running)
	if q.Background || n == 0 || !s.running[n-1].Background {
		return false
	}
	s.preempt(s.running[n-1])
	return true
}

// uncount removes q from the count of those that wait for their first slot.
func (s *Scheduler) uncount(q *sequence) {
	if !q.seen && !q.Background {
		s.fresh--
	}
}
