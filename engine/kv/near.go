package kv

// A Near is the pool of blocks of layers with a sliding window, whose sequences release blocks
// outside of it. It goes with a Pool, in whose tables sequences keep all their
// blocks: a block cached here is found by the Pool's block of the same tokens. That one may
// stay when this is evicted; then the cached prefix is shorter.
type Near struct {
	blocks
	pool *Pool
	of   []int32  // by block of the Pool: the one here that goes with it, if that agrees
	with []uint64 // by block: the serial number of the Pool's block that it goes with, 0 for none
}

// A Trail is the blocks of a sequence in a Near. Entries before its window are -1.
type Trail struct {
	Table []int32 // -1 where it holds none
	from  int     // the first it holds
}

// NewNear returns a Near of n blocks beside p.
func NewNear(p *Pool, n int) *Near {
	return &Near{blocks: newBlocks(n), pool: p, of: make([]int32, len(p.refs)), with: make([]uint64, n)}
}

// beside is the block that goes with b of the Pool, or none.
func (n *Near) beside(b int32) int32 {
	if id, own := n.pool.Serial(b), n.of[b]; id != 0 && n.with[own] == id {
		return own
	}
	return none
}

func (n *Near) release(b int32) { n.blocks.release(b, n.with[b] != 0) }

// alloc returns a block with one reference and contents that are no longer needed.
func (n *Near) alloc() (int32, bool) {
	b, _, ok := n.take()
	if ok {
		n.with[b] = 0
	}
	return b, ok
}

// Grow adds blocks to t until its table has to entries, released ones included. It reports
// whether there were enough.
func (n *Near) Grow(t *Trail, to int) bool {
	for len(t.Table) < to {
		b, ok := n.alloc()
		if !ok {
			return false
		}
		t.Table = append(t.Table, b)
	}
	return true
}

// Drop releases the blocks of t before the first-th.
func (n *Near) Drop(t *Trail, first int) {
	for ; t.from < min(first, len(t.Table)); t.from++ {
		n.release(t.Table[t.from])
		t.Table[t.from] = none
	}
}

// Trim releases the blocks of t from the to-th on.
func (n *Near) Trim(t *Trail, to int) {
	to = max(to, t.from)
	for i := len(t.Table) - 1; i >= to; i-- {
		n.release(t.Table[i])
	}
	t.Table = t.Table[:min(to, len(t.Table))]
}

// Clear releases all blocks of t.
func (n *Near) Clear(t *Trail) {
	for i := len(t.Table) - 1; i >= t.from; i-- {
		n.release(t.Table[i])
	}
	t.Table, t.from = t.Table[:0], 0
}

// Missing is the last of the blocks from first up to end that is not here, where found are
// the Pool's from the at-th on and those before are held; -1 if all are.
func (n *Near) Missing(found []int32, at, first, end int) int {
	for i := end - 1; i >= max(first, at); i-- {
		if n.beside(found[i-at]) == none {
			return i
		}
	}
	return -1
}

// Adopt makes t's table, from the at-th block up to end, those that go with the blocks of table,
// the Pool's, and releases the ones before the first-th. None from there on is missing.
func (n *Near) Adopt(t *Trail, table []int32, at, first, end int) {
	for i := at; i < end; i++ {
		b := none
		if i >= first {
			b = n.beside(table[i])
			n.acquire(b)
		}
		switch {
		case i >= len(t.Table):
			t.Table = append(t.Table, b)
		default:
			n.release(t.Table[i])
			t.Table[i] = b
		}
	}
	for ; t.from < first; t.from++ {
		if b := t.Table[t.from]; b != none {
			n.release(b)
			t.Table[t.from] = none
		}
	}
}

// Keep makes the blocks of t findable that were filled since the first from tokens were
// computed, where those of table, the Pool's, are. Where another sequence has cached the
// same tokens, t changes to its block.
func (n *Near) Keep(t *Trail, table []int32, from, computed int) {
	for k := from / n.pool.size; k < computed/n.pool.size; k++ {
		id := n.pool.Serial(table[k])
		if id == 0 {
			return
		}
		own := t.Table[k]
		switch b := n.beside(table[k]); b {
		case own:
		case none:
			n.of[table[k]], n.with[own] = own, id
		default:
			n.acquire(b)
			n.release(own)
			t.Table[k] = b
		}
	}
}

// Fork makes f share the first whole blocks of t, and have a copy of the next if more is
// true, for which a block must be Available; near is the number of this pool in c.
func (n *Near) Fork(f, t *Trail, whole int, more bool, c Copier, near int) {
	f.Table, f.from = append(f.Table[:0], t.Table[:whole]...), min(t.from, whole)
	for _, b := range f.Table[f.from:] {
		n.acquire(b)
	}
	if more {
		b, _ := n.alloc()
		c.Copy(near, b, t.Table[whole])
		f.Table = append(f.Table, b)
	}
}
