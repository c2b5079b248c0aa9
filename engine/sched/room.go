package sched

import (
	"time"

	"quern/engine/token"
)

// admit moves sequences from waiting to running, oldest first and those in the background
// last. These leave for others who wait.
func (s *Scheduler) admit() {
	for i := 0; i < len(s.waiting); {
		q := s.waiting[i]
		if q.stalled() {
			i++ // has tokens its reader has yet to take; those behind need not wait for that
			continue
		}
		if q == s.blocked || len(s.running) == s.o.Slots && !s.yield(q) {
			return
		}
		if !s.place(q) {
			if s.yield(q) {
				continue
			}
			if len(s.running) > 0 {
				s.blocked = q
				return
			}
			// All blocks there are do not suffice for what it has grown to.
			s.finish(q, Length, token.None)
			continue
		}
		s.waiting = remove(s.waiting, q)
		s.running = insert(s.running, q)
		q.state = running
		if !q.seen {
			s.uncount(q)
			q.seen, q.admitted = true, time.Now()
		}
	}
}

// place gives q blocks for all its tokens, cached ones as far as there are any.
func (s *Scheduler) place(q *sequence) bool {
	s.extend(q)
	need := s.pool.BlocksFor(len(q.tokens)) - len(q.table)
	spare := s.pool.Available() - need
	// One more block for everybody keeps the next steps from undoing this.
	if spare < 0 || len(s.running) > 0 && spare <= len(s.running) {
		s.vacate(q)
		return false
	}
	for i, n := range s.near {
		spare := n.Available() - (s.ahead(q, i) - len(q.near[i].Table))
		if spare < 0 || len(s.running) > 0 && spare <= len(s.running) {
			s.vacate(q)
			return false
		}
	}
	for range need {
		b, _ := s.pool.Alloc()
		q.table = append(q.table, b)
	}
	for i, n := range s.near {
		n.Grow(&q.near[i], s.ahead(q, i))
	}
	s.takeSlot(q)
	s.restore(q)
	s.fetch(q)
	return true
}

// vacate takes all blocks from q.
func (s *Scheduler) vacate(q *sequence) {
	s.pool.ReleaseAll(q.table)
	q.table = q.table[:0]
	for i, n := range s.near {
		n.Clear(&q.near[i])
	}
	s.giveSlot(q)
	q.computed = 0
	if !q.done {
		q.cached = 0
	}
}

// extend moves q on over blocks that others have computed.
func (s *Scheduler) extend(q *sequence) {
	if !q.reads() || q.slot != noSlot {
		return // states go on row by row from where they are
	}
	before, at := q.computed, q.computed/s.o.BlockSize
	s.found = s.pool.Find(s.found[:0], uint32(q.Adapter), q.table, q.tokens, before)
	s.found = s.found[:s.usable(q, at)]
	if len(s.found) == 0 {
		return
	}
	q.table = s.pool.Adopt(q.table, s.found, at)
	end := at + len(s.found)
	q.computed = end * s.o.BlockSize
	for i, n := range s.near {
		n.Adopt(&q.near[i], q.table, at, s.first(i, q.computed), end)
	}
	if !q.done {
		q.cached += q.computed - before
	}
}

// keep makes the blocks findable that q has filled since it had from tokens
// computed.
func (s *Scheduler) keep(q *sequence, from int) {
	if !q.NoPromptCache {
		s.pool.Keep(uint32(q.Adapter), q.table, q.tokens, from, q.computed)
		for i, n := range s.near {
			n.Keep(&q.near[i], q.table, from, q.computed)
		}
		s.snap(q)
	}
}

// grow gives sequences that crossed into a new block that block. When there is
// none, the newest sequence gives its own back.
func (s *Scheduler) grow() {
	for i := 0; i < len(s.running); i++ {
		q := s.running[i]
		// Asked once a turn: a reader may catch up at any time, and what has
		// no room now must not be planned now.
		if q.full = q.stalled(); q.full {
			continue
		}
		for q.state == running && !s.grown(q) {
			if len(s.running) > 1 {
				s.preempt(s.running[len(s.running)-1])
			} else {
				s.finish(q, Length, token.None) // has the whole cache and needs more
			}
		}
	}
}

// grown gives q blocks for all its tokens and, where rows do not see everything, for its
// next row. It says whether there were enough.
func (s *Scheduler) grown(q *sequence) bool {
	if !s.pool.Grow(&q.table, len(q.tokens)) {
		return false
	}
	for i, n := range s.near {
		if !n.Grow(&q.near[i], s.pool.BlocksFor(q.computed+1)) {
			return false
		}
	}
	return true
}

// preempt sends q back to wait. Its tokens and its sampler stay as they are;
// keys and values are computed again when there is room.
func (s *Scheduler) preempt(q *sequence) {
	s.log.DebugContext(q.ctx, "sequence preempted", "tokens", len(q.tokens), "blocks", len(q.table), "running", len(s.running))
	s.stats.preempts.Add(1)
	q.preempted++
	s.leave(q)
	q.state = waiting
	s.waiting = insert(s.waiting, q)
}

// leave takes q out of where it is, with its blocks.
func (s *Scheduler) leave(q *sequence) {
	switch q.state {
	case running:
		s.running = remove(s.running, q)
		s.left = true
	case waiting:
		s.waiting = remove(s.waiting, q)
		s.uncount(q)
	}
	s.vacate(q)
	s.forget(q)
	q.onDisk.drop()
	// There may be room now, or another head.
	s.blocked = nil
}

// share lets f continue where q is: it has q's whole blocks too, and a copy of
// the one that is partly filled.
func (s *Scheduler) share(f, q *sequence, whole int) bool {
	if len(s.running) >= s.o.Slots {
		return false
	}
	part := q.prompt > whole*s.o.BlockSize
	for _, n := range s.near {
		if part && n.Available() == 0 {
			return false
		}
	}
	if part {
		b, ok := s.pool.Alloc()
		if !ok {
			return false
		}
		s.o.Cache.Copy(0, b, q.table[whole])
		f.table = append(f.table, q.table[:whole]...)
		f.table = append(f.table, b)
	} else {
		f.table = append(f.table, q.table[:whole]...)
	}
	s.pool.AcquireAll(f.table[:whole])
	for i, n := range s.near {
		n.Fork(&f.near[i], &q.near[i], whole, part, s.o.Cache, i+1)
	}
	f.computed = q.computed
	if s.takeSlot(f); f.slot != noSlot {
		s.o.Cache.CopyState(f.slot, q.slot)
	}
	return true
}
