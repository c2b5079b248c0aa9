package kv

import (
	"fmt"
	"slices"
)

// Audit checks every invariant, for tests: refs are the references of all tables, and
// holds is asked of each cached block whether it holds these tokens, the depth-th block
// of its prompt.
func (p *Pool) Audit(refs []int32, holds func(b int32, depth int, tokens []int32) error) error {
	if !slices.Equal(refs, p.refs) {
		return fmt.Errorf("references %v, tables have %v", p.refs, refs)
	}
	where := make([]string, len(p.refs))
	for b, n := range refs {
		if n > 0 {
			where[b] = "used"
		}
	}
	for _, b := range p.free {
		if where[b] != "" || p.index.has(b) {
			return fmt.Errorf("block %d is free and %s, cached %v", b, where[b], p.index.has(b))
		}
		where[b] = "free"
	}
	end := int32(len(p.refs))
	place := map[uint64]int{} // serial number → age
	n := 0
	for b := p.newer[end]; b != end; b = p.newer[b] {
		if where[b] != "" || !p.index.has(b) || p.older[p.newer[b]] != b {
			return fmt.Errorf("block %d is idle and %s, cached %v", b, where[b], p.index.has(b))
		}
		where[b] = "idle"
		n++
		place[p.index.id[b]] = n
	}
	if n != p.idles || slices.Contains(where, "") {
		return fmt.Errorf("%d idle blocks, want %d: %q", p.idles, n, where)
	}
	if got := p.Used() + p.Available(); got != len(refs) {
		return fmt.Errorf("%d blocks of %d", got, len(refs))
	}
	// A cached block's predecessor is used or will be evicted later, so no
	// leaf is ever orphaned, and contents are what they are said to be.
	owner := map[uint64]int32{}
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
			if where[up] == "idle" && (where[b] != "idle" || place[id] < place[p.index.id[b]]) {
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

// Collide makes all but everything collide in the hash of contents, for tests. It is to
// be called before the first Keep.
func (p *Pool) Collide() {
	p.index = newIndex(len(p.refs), p.size)
	p.index.mask = 1
}
