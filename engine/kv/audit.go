package kv

import (
	"fmt"
	"slices"
)

// Audit checks every invariant, for tests: refs are the references of all tables, and
// holds is called for each cached block and returns an error unless it holds these tokens, the
// depth-th block of its prompt.
func (p *Pool) Audit(refs []int32, holds func(b int32, depth int, tokens []int32) error) error {
	where, idle, err := p.audit(refs, p.index.has)
	if err != nil {
		return err
	}
	end := int32(len(p.refs))
	place := make([]int, end) // of idle blocks: their age
	for i, b := range idle {
		place[b] = i
	}
	// A cached block's predecessor is used or will be evicted later, so no
	// leaf is ever orphaned, and contents match their index.
	owner := make(map[uint64]int32, end) // of serial numbers
	for b := range end {
		if p.index.has(b) {
			owner[p.index.id[b]] = b
		}
	}
	for b := range end {
		if !p.index.has(b) {
			continue
		}
		depth := 0
		for id := p.index.parent[b]; id > roots; depth++ {
			up, ok := owner[id]
			if !ok {
				return fmt.Errorf("block %d outlived its predecessor", b)
			}
			if where[up] == "idle" && (where[b] != "idle" || place[up] < place[b]) {
				return fmt.Errorf("block %d would be evicted before its successor %d", up, b)
			}
			id = p.index.parent[up]
		}
		if err := holds(b, depth, p.index.of(b)); err != nil {
			return err
		}
	}
	return nil
}

// audit checks the references. It returns the state of each block, and the idle ones, oldest first.
func (p *blocks) audit(refs []int32, cached func(b int32) bool) (where []string, idle []int32, err error) {
	if !slices.Equal(refs, p.refs) {
		return nil, nil, fmt.Errorf("references %v, tables have %v", p.refs, refs)
	}
	where = make([]string, len(p.refs))
	for b, n := range refs {
		if n > 0 {
			where[b] = "used"
		}
	}
	for _, b := range p.free {
		if where[b] != "" || cached(b) {
			return nil, nil, fmt.Errorf("block %d is free and %s, cached %v", b, where[b], cached(b))
		}
		where[b] = "free"
	}
	end := int32(len(p.refs))
	for b := p.newer[end]; b != end; b = p.newer[b] {
		if where[b] != "" || !cached(b) || p.older[p.newer[b]] != b {
			return nil, nil, fmt.Errorf("block %d is idle and %s, cached %v", b, where[b], cached(b))
		}
		where[b] = "idle"
		idle = append(idle, b)
	}
	if len(idle) != p.idles || slices.Contains(where, "") {
		return nil, nil, fmt.Errorf("%d idle blocks, want %d: %q", p.idles, len(idle), where)
	}
	if got := p.Used() + p.Available(); got != len(refs) {
		return nil, nil, fmt.Errorf("%d blocks of %d", got, len(refs))
	}
	return where, idle, nil
}

// Audit checks every invariant, as Pool.Audit does: refs are the references of all trails, and
// holds is called for each block that goes with one of the Pool's.
func (n *Near) Audit(refs []int32, holds func(b, with int32) error) error {
	if _, _, err := n.audit(refs, func(b int32) bool { return n.with[b] != 0 }); err != nil {
		return err
	}
	for with := range n.pool.refs {
		if b := n.beside(int32(with)); b != none {
			if err := holds(b, int32(with)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Held are the blocks of t.
func (t *Trail) Held() []int32 { return t.Table[t.from:] }

// Collide makes all but everything collide in the hash of contents, for tests. It is to
// be called before the first Keep.
func (p *Pool) Collide() {
	p.index = newIndex(len(p.refs), p.size)
	p.index.mask = 1
}
