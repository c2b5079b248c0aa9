package kv

// blocks counts the references to each block, and lists those without any.
type blocks struct {
	refs  []int32
	free  []int32
	idles int // blocks on the list idle

	// Doubly linked list of idle blocks; entry len(refs) is its ends.
	newer, older []int32
}

func newBlocks(n int) blocks {
	p := blocks{
		refs:  make([]int32, n),
		free:  make([]int32, n),
		newer: make([]int32, n+1),
		older: make([]int32, n+1),
	}
	for i := range p.free {
		p.free[i] = int32(n - 1 - i) // low numbers first
	}
	p.newer[n], p.older[n] = int32(n), int32(n)
	return p
}

// Available is how many blocks Alloc can give.
func (p *blocks) Available() int { return len(p.free) + p.idles }

// Used is how many blocks tables hold.
func (p *blocks) Used() int { return len(p.refs) - p.Available() }

// take returns a block with one reference: a free one, or else the one that has been idle longest,
// whose contents are cached.
func (p *blocks) take() (b int32, cached, ok bool) {
	if n := len(p.free); n > 0 {
		b = p.free[n-1]
		p.free = p.free[:n-1]
		p.refs[b] = 1
		return b, false, true
	}
	if p.idles == 0 {
		return 0, false, false
	}
	b = p.newer[len(p.refs)]
	p.unlink(b)
	p.refs[b] = 1
	return b, true, true
}

// acquire adds a reference to a used or idle block.
func (p *blocks) acquire(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// release removes a reference. Where it was the last, the block is idle if it is cached,
// else free.
func (p *blocks) release(b int32, cached bool) {
	p.refs[b]--
	if p.refs[b] > 0 {
		return
	}
	if !cached {
		p.free = append(p.free, b)
		return
	}
	end := int32(len(p.refs))
	last := p.older[end]
	p.older[b], p.newer[b] = last, end
	p.newer[last], p.older[end] = b, b
	p.idles++
}

func (p *blocks) unlink(b int32) {
	p.newer[p.older[b]] = p.newer[b]
	p.older[p.newer[b]] = p.older[b]
	p.idles--
}
