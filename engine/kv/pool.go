// Package kv keeps account of the blocks of a KV cache: which are free, who holds
// which, and which hold the start of a prompt that may come again.
package kv

// A Pool hands out the KV blocks of one cache. Every block is in one of three
// states:
//
//	used   refs > 0: that many tables hold it
//	idle   refs = 0, contents worth keeping: on the list idle, oldest first
//	free   refs = 0, contents forgotten: on the stack free
//
// Used and idle blocks may be cached, that is, found by Lookup; free ones never
// are. All operations take constant time and allocate nothing. A Pool is not safe for
// concurrent use.
type Pool struct {
	size  int // tokens per block
	refs  []int32
	free  []int32
	idles int // blocks on the list idle

	// Doubly linked list of idle blocks; entry len(refs) is its ends.
	newer, older []int32

	index index
}

// NewPool returns a Pool of blocks that hold size tokens each.
func NewPool(blocks, size int) *Pool {
	p := &Pool{
		size:  size,
		refs:  make([]int32, blocks),
		free:  make([]int32, blocks),
		newer: make([]int32, blocks+1),
		older: make([]int32, blocks+1),
	}
	for i := range p.free {
		p.free[i] = int32(blocks - 1 - i) // low numbers first
	}
	p.newer[blocks], p.older[blocks] = int32(blocks), int32(blocks)
	return p
}

// Available is how many blocks Alloc can give.
func (p *Pool) Available() int { return len(p.free) + p.idles }

// Used is how many blocks tables hold.
func (p *Pool) Used() int { return len(p.refs) - p.Available() }

// Alloc returns a block with one reference and contents that are no longer needed: a free
// one, or else the one that has been idle longest.
func (p *Pool) Alloc() (int32, bool) {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		p.refs[b] = 1
		return b, true
	}
	if p.idles == 0 {
		return 0, false
	}
	b := p.newer[len(p.refs)]
	p.unlink(b)
	p.index.forget(b)
	p.refs[b] = 1
	return b, true
}

// Refs is how many tables hold b.
func (p *Pool) Refs(b int32) int { return int(p.refs[b]) }

// Serial is a number that tells what b holds apart from what any block has held, 0 where b
// is not findable.
func (p *Pool) Serial(b int32) uint64 {
	if p.index.id == nil {
		return 0
	}
	return p.index.id[b]
}

// acquire adds a reference to a used or idle block.
func (p *Pool) acquire(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// AcquireAll adds a reference to each block of a table that another holds.
func (p *Pool) AcquireAll(table []int32) {
	for _, b := range table {
		p.acquire(b)
	}
}

// Release takes a reference back. Tables are released from their end, so a
// cached block becomes idle before the blocks it continues do, and is evicted
// before them: eviction always takes a leaf.
func (p *Pool) Release(b int32) {
	p.refs[b]--
	if p.refs[b] > 0 {
		return
	}
	if !p.index.has(b) {
		p.free = append(p.free, b)
		return
	}
	end := int32(len(p.refs))
	last := p.older[end]
	p.older[b], p.newer[b] = last, end
	p.newer[last], p.older[end] = b, b
	p.idles++
}

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
// other tables hold it too, c copies it to a new one. It says whether there was one.
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

// Extend moves a sequence of these tokens, the first computed of which are in its
// table, on over blocks that others have computed. It returns the table and how many
// tokens are computed now. The last token is always left, because its logits are needed.
func (p *Pool) Extend(table, tokens []int32, computed int) ([]int32, int) {
	if computed%p.size != 0 {
		return table, computed
	}
	for computed+p.size < len(tokens) {
		k, parent := computed/p.size, none
		if k > 0 {
			if parent = table[k-1]; !p.index.has(parent) {
				break
			}
		}
		b, ok := p.index.lookup(parent, tokens[computed:computed+p.size])
		if !ok {
			break
		}
		p.acquire(b)
		if k < len(table) {
			p.Release(table[k])
			table[k] = b
		} else {
			table = append(table, b)
		}
		computed += p.size
	}
	return table, computed
}

// Keep makes the blocks of a table findable that were filled since the first from of
// the sequence's tokens were computed. Where another sequence was first, the table
// changes to its block. The first call takes memory for all blocks there are.
func (p *Pool) Keep(table, tokens []int32, from, computed int) {
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
		b := p.index.add(parent, table[k], tokens[k*p.size:(k+1)*p.size])
		if b != table[k] {
			p.acquire(b)
			p.Release(table[k])
			table[k] = b
		}
	}
}

func (p *Pool) unlink(b int32) {
	p.newer[p.older[b]] = p.newer[b]
	p.older[p.newer[b]] = p.older[b]
	p.idles--
}

// BlocksFor is how many blocks n tokens need.
func (p *Pool) BlocksFor(n int) int { return (n + p.size - 1) / p.size }
