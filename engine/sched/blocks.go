package sched

// A pool hands out the KV blocks of one cache. Every block is in one of three
// states:
//
//	used   refs > 0: that many tables hold it
//	idle   refs = 0, contents worth keeping: on the list idle, oldest first
//	free   refs = 0, contents forgotten: on the stack free
//
// Used and idle blocks may be cached, that is, found by lookup; free ones never
// are. All operations take constant time and allocate nothing.
type pool struct {
	size  int // tokens per block
	refs  []int32
	free  []int32
	idles int // blocks on the list idle

	// Doubly linked list of idle blocks; entry len(refs) is its ends.
	newer, older []int32

	prefix prefix
}

func newPool(blocks, size int) *pool {
	p := &pool{
		size:   size,
		refs:   make([]int32, blocks),
		free:   make([]int32, blocks),
		newer:  make([]int32, blocks+1),
		older:  make([]int32, blocks+1),
		prefix: newPrefix(blocks, size),
	}
	for i := range p.free {
		p.free[i] = int32(blocks - 1 - i) // low numbers first
	}
	p.newer[blocks], p.older[blocks] = int32(blocks), int32(blocks)
	return p
}

// available is how many blocks alloc can give.
func (p *pool) available() int { return len(p.free) + p.idles }

// used is how many blocks tables hold.
func (p *pool) used() int { return len(p.refs) - p.available() }

// alloc returns a block with one reference and contents nobody wants: a free
// one, or else the one that has been idle longest.
func (p *pool) alloc() (int32, bool) {
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
	p.prefix.forget(b)
	p.refs[b] = 1
	return b, true
}

// acquire adds a reference to a used or idle block.
func (p *pool) acquire(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// release takes a reference back. Tables are released from their end, so a
// cached block becomes idle before the blocks it continues do, and is evicted
// before them: eviction always takes a leaf.
func (p *pool) release(b int32) {
	p.refs[b]--
	if p.refs[b] > 0 {
		return
	}
	if !p.prefix.has(b) {
		p.free = append(p.free, b)
		return
	}
	end := int32(len(p.refs))
	last := p.older[end]
	p.older[b], p.newer[b] = last, end
	p.newer[last], p.older[end] = b, b
	p.idles++
}

// releaseAll releases a table.
func (p *pool) releaseAll(table []int32) {
	for i := len(table) - 1; i >= 0; i-- {
		p.release(table[i])
	}
}

func (p *pool) unlink(b int32) {
	p.newer[p.older[b]] = p.newer[b]
	p.older[p.newer[b]] = p.older[b]
	p.idles--
}

// blocksFor is how many blocks n tokens need.
func (p *pool) blocksFor(n int) int { return (n + p.size - 1) / p.size }
