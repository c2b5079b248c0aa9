// Package kv allocates the blocks of a KV cache: it counts their references, and finds
// those of a prompt's prefix again.
package kv

// A Pool allocates the KV blocks of one cache. Every block is in one of three
// states:
//
//	used   refs > 0: that many tables hold it
//	idle   refs = 0, contents cached: on the list idle, oldest first
//	free   refs = 0, contents not cached: on the stack free
//
// Used and idle blocks may be cached, that is, found by Find; free ones never
// are. All operations take constant time and allocate nothing. A Pool is not safe for
// concurrent use.
type Pool struct {
	blocks
	size  int // tokens per block
	index index
}

// NewPool returns a Pool of blocks that hold size tokens each.
func NewPool(blocks, size int) *Pool { return &Pool{blocks: newBlocks(blocks), size: size} }

// Alloc returns a block with one reference and contents that are no longer needed: a free
// one, or else the one that has been idle longest.
func (p *Pool) Alloc() (int32, bool) {
	b, cached, ok := p.take()
	if cached {
		p.index.forget(b)
	}
	return b, ok
}

// Grow adds blocks to a table until it holds so many tokens. It reports whether there were enough;
// the table keeps those that were added.
func (p *Pool) Grow(table *[]int32, tokens int) bool {
	for len(*table) < p.BlocksFor(tokens) {
		b, ok := p.Alloc()
		if !ok {
			return false
		}
		*table = append(*table, b)
	}
	return true
}

// Serial is a number of b's cached contents that no other contents have or had, 0 where b
// is not cached.
func (p *Pool) Serial(b int32) uint64 {
	if p.index.id == nil {
		return 0
	}
	return p.index.id[b]
}

// AcquireAll adds a reference to each block of a table that another holds.
func (p *Pool) AcquireAll(table []int32) {
	for _, b := range table {
		p.acquire(b)
	}
}

// Release removes a reference. Tables are released from their end, so a
// cached block becomes idle before the blocks it continues do, and is evicted
// before them: eviction always takes a leaf.
func (p *Pool) Release(b int32) { p.release(b, p.index.has(b)) }

// ReleaseAll releases a table.
func (p *Pool) ReleaseAll(table []int32) {
	for i := len(table) - 1; i >= 0; i-- {
		p.Release(table[i])
	}
}

// A Copier is a cache that copies blocks.
type Copier interface {
	Copy(near int, dst, src int32)
}

// Own makes block i of a table the table's own before it is written to: where
// other tables hold it too, c copies it to a new one. It reports whether there was one.
func (p *Pool) Own(c Copier, table []int32, i int) bool {
	shared := table[i]
	if p.refs[shared] == 1 {
		return true
	}
	own, ok := p.Alloc()
	if !ok {
		return false
	}
	c.Copy(0, own, shared)
	p.Release(shared)
	table[i] = own
	return true
}

// Find appends to dst the cached blocks of the tokens that follow the first computed of a
// sequence under a root, whose blocks are in its table. The last token is always
// left out, because its logits are needed.
func (p *Pool) Find(dst []int32, root uint32, table, tokens []int32, computed int) []int32 {
	if computed%p.size != 0 {
		return dst
	}
	parent := none
	if k := computed / p.size; k > 0 {
		if parent = table[k-1]; !p.index.has(parent) {
			return dst
		}
	}
	for ; computed+p.size < len(tokens); computed += p.size {
		b, ok := p.index.lookup(root, parent, tokens[computed:computed+p.size])
		if !ok {
			break
		}
		dst, parent = append(dst, b), b
	}
	return dst
}

// Adopt makes found, blocks that Find has just returned, the blocks of a table from the
// at-th on.
func (p *Pool) Adopt(table, found []int32, at int) []int32 {
	for i, b := range found {
		p.acquire(b)
		if at+i < len(table) {
			p.Release(table[at+i])
			table[at+i] = b
		} else {
			table = append(table, b)
		}
	}
	return table
}

// Keep makes the blocks of a table findable that were filled since the first from of
// the sequence's tokens were computed. Where another sequence has cached the same tokens,
// the table changes to its block. Blocks are not found under another root. The first call allocates
// the index of all blocks.
func (p *Pool) Keep(root uint32, table, tokens []int32, from, computed int) {
	if p.index.id == nil {
		p.index = newIndex(len(p.refs), p.size)
	}
	for k := from / p.size; k < computed/p.size; k++ {
		parent := none
		if k > 0 {
			if parent = table[k-1]; !p.index.has(parent) {
				return
			}
		}
		b := p.index.add(root, parent, table[k], tokens[k*p.size:(k+1)*p.size])
		if b != table[k] {
			p.acquire(b)
			p.Release(table[k])
			table[k] = b
		}
	}
}

// BlocksFor is how many blocks n tokens need.
func (p *Pool) BlocksFor(n int) int { return (n + p.size - 1) / p.size }
