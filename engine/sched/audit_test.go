package sched

import (
	"fmt"
	"slices"
)

// audit checks every invariant of blocks, tables and lists.
func (s *Scheduler) audit() error {
	p := s.pool
	refs := make([]int32, s.o.Blocks)
	for _, q := range s.running {
		if q.state != running || q.computed >= len(q.tokens) || q.computed > len(q.table)*s.o.BlockSize {
			return fmt.Errorf("running sequence in state %d: %d of %d tokens in %d blocks", q.state, q.computed, len(q.tokens), len(q.table))
		}
		for _, b := range q.table {
			refs[b]++
		}
	}
	for _, q := range slices.Concat(s.running, s.waiting) {
		if n := q.st.queued[q.index].Load(); int(n) > 2*s.o.StreamDepth || q.Mask == nil && int(n) > s.o.StreamDepth {
			return fmt.Errorf("%d tokens are queued, at most %d may be", n, s.o.StreamDepth)
		}
	}
	if s.o.States {
		slots := slices.Clone(s.states.free)
		for _, q := range s.running {
			slots = append(slots, q.slot)
		}
		slices.Sort(slots)
		for i, n := range slots {
			if len(slots) != s.o.Slots || int(n) != i {
				return fmt.Errorf("slots of states %v, free and taken, of %d", slots, s.o.Slots)
			}
		}
	}
	fresh := 0
	for _, q := range s.waiting {
		if q.state != waiting || len(q.table) > 0 || q.computed > 0 {
			return fmt.Errorf("waiting sequence in state %d has %d blocks", q.state, len(q.table))
		}
		if !q.seen && !q.Background {
			fresh++
		}
	}
	older := func(a, b *sequence) int {
		if a.before(b) {
			return -1
		}
		return 1
	}
	if fresh != s.fresh || len(s.running) > s.o.Slots || !slices.IsSortedFunc(s.running, older) || !slices.IsSortedFunc(s.waiting, older) {
		return fmt.Errorf("%d fresh, want %d; %d of %d slots; or out of order", s.fresh, fresh, len(s.running), s.o.Slots)
	}
	// A block that several tables hold must be complete for all of them.
	for _, q := range s.running {
		for k, b := range q.table {
			if refs[b] > 1 && (k+1)*s.o.BlockSize > q.computed {
				return fmt.Errorf("block %d is shared and not computed", b)
			}
		}
	}
	c := s.o.Cache.(*fakeCache)
	if err := s.auditNear(c); err != nil {
		return err
	}
	return p.Audit(refs, func(b int32, depth int, tokens []int32) error {
		at := int(b) * c.size
		of := adaptedBy * (c.tokens[at] / adaptedBy)
		same := slices.EqualFunc(c.tokens[at:][:c.size], tokens, func(held, token int32) bool { return held == token+of })
		if !same || int(c.places[at]) != depth*c.size {
			return fmt.Errorf("block %d, the %dth of its chain, is cached as %v and holds %v of position %d", b, depth, tokens, c.tokens[at:][:c.size], c.places[at])
		}
		return nil
	})
}

// auditNear checks the pools of layers whose rows do not see everything.
func (s *Scheduler) auditNear(c *fakeCache) error {
	for i, n := range s.near {
		refs := make([]int32, s.o.Near[i].Blocks)
		for _, q := range s.running {
			t := &q.near[i]
			first := s.first(i, q.computed)
			if held := len(t.Held()); held != len(t.Table)-first || held > s.holds(s.o.Near[i].Reach)+s.pool.BlocksFor(s.o.Budget) {
				return fmt.Errorf("%d blocks of %d are held in pool %d behind %d tokens", held, len(t.Table), i+1, q.computed)
			}
			for _, b := range t.Held() {
				refs[b]++
			}
		}
		for _, q := range s.waiting {
			if len(q.near[i].Table) > 0 {
				return fmt.Errorf("waiting sequence has %d blocks in pool %d", len(q.near[i].Table), i+1)
			}
		}
		near := c.near[i]
		if err := n.Audit(refs, func(b, with int32) error {
			own, lead := int(b)*c.size, int(with)*c.size
			if !slices.Equal(near.tokens[own:][:c.size], c.tokens[lead:][:c.size]) || near.places[own] != c.places[lead] {
				return fmt.Errorf("block %d of pool %d holds %v of position %d beside %v of %d", b, i+1, near.tokens[own:][:c.size], near.places[own], c.tokens[lead:][:c.size], c.places[lead])
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
