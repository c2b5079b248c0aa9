package kv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A memory is what blocks hold: for every slot the token and its position, plus one.
type memory struct {
	size int
	held [][3]int32 // the last is the root
}

func (m *memory) Copy(_ int, dst, src int32) {
	copy(m.held[int(dst)*m.size:][:m.size], m.held[int(src)*m.size:][:m.size])
}

// A sequence is one user of a Pool.
type sequence struct {
	root          uint32
	tokens, table []int32
	computed      int
}

// Sequences that begin alike, fork, write on and leave always find in their blocks what
// they, or others like them, have put there.
func TestPool(t *testing.T) {
	for seed := range uint64(300) {
		if err := play(seed, 200); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// extend starts a sequence over blocks that others have computed.
func extend(p *Pool, root uint32, tokens []int32) (table []int32, computed int) {
	table = p.Adopt(nil, p.Find(nil, root, nil, tokens, 0), 0)
	return table, len(table) * p.size
}

func play(seed uint64, turns int) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	n, size := 1+rng.IntN(20), 1+rng.IntN(4)
	p, m := NewPool(n, size), &memory{size, make([][3]int32, n*size)}
	if seed%3 == 0 {
		p.Collide()
	}
	var all []*sequence
	for range turns {
		switch q := (&sequence{}); {
		case len(all) == 0 || rng.IntN(4) == 0:
			for range 1 + rng.IntN(12) {
				q.tokens = append(q.tokens, int32(rng.IntN(2)))
			}
			q.root = rng.Uint32N(2)
			q.table, q.computed = extend(p, q.root, q.tokens)
			if q.computed%size != 0 || q.computed >= len(q.tokens) {
				return fmt.Errorf("%d of %d tokens are computed from the start", q.computed, len(q.tokens))
			}
			all = append(all, q)
		case rng.IntN(3) == 0: // one leaves
			i := rng.IntN(len(all))
			p.ReleaseAll(all[i].table)
			all = slices.Delete(all, i, i+1)
		case rng.IntN(4) == 0: // one forks
			from := all[rng.IntN(len(all))]
			*q = sequence{from.root, slices.Clone(from.tokens), slices.Clone(from.table), from.computed}
			p.AcquireAll(q.table)
			all = append(all, q)
		default: // one computes what it has, and draws a token
			q = all[rng.IntN(len(all))]
			from := q.computed
			for q.computed < len(q.tokens) && write(p, m, q) {
			}
			if seed%5 != 0 {
				p.Keep(q.root, q.table, q.tokens, from, q.computed)
			}
			if q.computed == len(q.tokens) {
				q.tokens = append(q.tokens, int32(rng.IntN(2)))
			}
		}
		if err := check(p, m, all); err != nil {
			return err
		}
	}
	return nil
}

// write computes one token of q, if it gets a block to write to.
func write(p *Pool, m *memory, q *sequence) bool {
	k := q.computed / m.size
	if k == len(q.table) {
		b, ok := p.Alloc()
		if !ok {
			return false
		}
		q.table = append(q.table, b)
	}
	if !p.Own(m, q.table, k) {
		return false
	}
	m.held[int(q.table[k])*m.size+q.computed%m.size] = [3]int32{q.tokens[q.computed], int32(q.computed + 1), int32(q.root)}
	q.computed++
	return true
}

func check(p *Pool, m *memory, all []*sequence) error {
	refs := make([]int32, len(m.held)/m.size)
	for _, q := range all {
		for _, b := range q.table {
			refs[b]++
		}
		for i, id := range q.tokens[:q.computed] {
			if got := m.held[int(q.table[i/m.size])*m.size+i%m.size]; got != [3]int32{id, int32(i + 1), int32(q.root)} {
				return fmt.Errorf("place %d of %v holds token %d of place %d", i, q.tokens, got[0], got[1]-1)
			}
		}
	}
	return p.Audit(refs, func(b int32, depth int, tokens []int32) error {
		for i, id := range tokens {
			if got := m.held[int(b)*m.size+i]; [2]int32(got[:2]) != [2]int32{id, int32(depth*m.size + i + 1)} {
				return fmt.Errorf("block %d is cached for %v and holds token %d of place %d", b, tokens, got[0], got[1]-1)
			}
		}
		return nil
	})
}

// A Pool that nothing is kept in finds nothing and takes no memory for it.
func TestNothingKept(t *testing.T) {
	p := NewPool(4, 2)
	if table, computed := extend(p, 0, []int32{1, 2, 3, 4, 5}); len(table) != 0 || computed != 0 {
		t.Errorf("found %v with %d tokens", table, computed)
	}
	if p.index.tokens != nil {
		t.Error("memory is taken for contents")
	}
	a, _ := p.Alloc()
	b, _ := p.Alloc()
	table := []int32{a, b}
	p.Keep(0, table, []int32{1, 2, 3, 4}, 0, 4)
	if found, computed := extend(p, 0, []int32{1, 2, 3, 4, 5}); !slices.Equal(found, table) || computed != 4 {
		t.Errorf("found %v with %d tokens, want %v with 4", found, computed, table)
	}
}
