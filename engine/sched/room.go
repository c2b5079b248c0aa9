package sched

import (
	"time"

	"quern/engine/token"
)

// admit moves sequences from waiting to running, oldest first and those in the background
// last. These are preempted for foreground ones.
func (s *Scheduler) admit() {
	for i := 0; i < len(s.waiting); {
		q := s.waiting[i]
		if q.stalled() {
			i++ // its stream's queue is full; those after it need not wait for that
			continue
		}
		if q == s.blocked || len(s.running) == s.o.Slots && !s.yield(q) {
			return
		}
		if !s.allocate(q) {
			if s.yield(q) {
				continue
			}
			if len(s.running) > 0 {
				s.blocked = q
				return
			}
			// The whole pool is too small for its tokens.
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

// allocate acquires blocks for all tokens of q, cached ones as far as there are any. It reports
// whether there were enough.
func (s *Scheduler) allocate(q *sequence) bool {
	s.extend(q)
	need := s.pool.BlocksFor(len(q.tokens)) - len(q.table)
	spare := s.pool.Available() - need
	// One spare block for each running sequence, so that the next steps need not preempt q again.
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

// vacate releases all blocks of q, and its slot.
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

// extend adds to q's table the blocks of its next tokens that are in the prefix cache.
func (s *Scheduler) extend(q *sequence) {
	if !q.reads() || q.slot != noSlot {
		return // states have to be computed row by row
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

// grow acquires the next block for sequences whose tokens have filled theirs. When there is
// none, the newest sequence is preempted.
func (s *Scheduler) grow() {
	for i := 0; i < len(s.running); i++ {
		q := s.running[i]
		// Read once a turn: the queue may drain at any time, and a sequence without
		// blocks must not be planned.
		if q.full = q.stalled(); q.full {
			continue
		}
		for q.state == running && !s.grown(q) {
			if len(s.running) > 1 {
				s.preempt(s.running[len(s.running)-1])
			} else {
				s.finish(q, Length, token.None) // it holds the whole cache and needs more
			}
		}
	}
}

// grown acquires blocks for all tokens of q and, in near pools, for its
// next row. It reports whether there were enough.
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

// preempt moves q from running to waiting, without blocks. Its tokens and its sampler stay
// as they are; keys and values are computed again when q is admitted again.
func (s *Scheduler) preempt(q *sequence) {
	s.log.DebugContext(q.ctx, "sequence preempted", "tokens", len(q.tokens), "blocks", len(q.table), "running", len(s.running))
	s.stats.preempts.Add(1)
	q.preempted++
	s.leave(q)
	q.state = waiting
	s.waiting = insert(s.waiting, q)
}

// leave removes q from running or waiting, and releases its blocks.
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
	// There may be blocks now, or another head of waiting.
	s.blocked = nil
}

// share lets f continue where q is: f shares q's whole blocks, and has a copy of
// the one that is partly filled. It reports whether there was a slot and a block.
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
