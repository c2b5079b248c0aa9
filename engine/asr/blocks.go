package asr

import (
	"context"
	"sync"
)

// blockSize is how many tokens a block of the cache holds.
const blockSize = 32

// blocksFor returns how many blocks n tokens take.
func blocksFor(n int) int { return (n + blockSize - 1) / blockSize }

// blocks counts who uses the blocks of the cache. A window first reserves all
// it may come to need, in the order of asking, and then never waits again: what
// two windows hold cannot keep both from going on.
type blocks struct {
	mu      sync.Mutex
	free    []int32
	refs    []int32
	spare   int // blocks nobody has reserved
	waiters []*waiter
}

type waiter struct {
	need  int
	ready chan struct{}
}

func newBlocks(n int) *blocks {
	b := &blocks{refs: make([]int32, n), spare: n}
	for i := n - 1; i >= 0; i-- {
		b.free = append(b.free, int32(i))
	}
	return b
}

// reserve waits until n blocks are set aside for the caller.
func (b *blocks) reserve(ctx context.Context, n int) error {
	b.mu.Lock()
	if len(b.waiters) == 0 && b.spare >= n {
		b.spare -= n
		b.mu.Unlock()
		return nil
	}
	w := &waiter{need: n, ready: make(chan struct{})}
	b.waiters = append(b.waiters, w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.waiters {
		if x == w {
			b.waiters = append(b.waiters[:i], b.waiters[i+1:]...)
			b.serve() // those behind may want less
			return ctx.Err()
		}
	}
	b.spare += n // it was ready at the same moment
	b.serve()
	return ctx.Err()
}

// unreserve gives n blocks back, which nobody refers to any more.
func (b *blocks) unreserve(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare += n
	b.serve()
}

func (b *blocks) serve() {
	for len(b.waiters) > 0 && b.waiters[0].need <= b.spare {
		b.spare -= b.waiters[0].need
		close(b.waiters[0].ready)
		b.waiters = b.waiters[1:]
	}
}

// take returns a block with one user. It panics when none is left, which a
// reservation rules out.
func (b *blocks) take() int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	b.refs[id] = 1
	return id
}

// retain adds a user to every block of a table.
func (b *blocks) retain(table []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range table {
		b.refs[id]++
	}
}

// release takes a user from every block of a table.
func (b *blocks) release(table []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range table {
		if b.refs[id]--; b.refs[id] == 0 {
			b.free = append(b.free, id)
		}
	}
}

// shared reports whether a block has more than one user.
func (b *blocks) shared(id int32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refs[id] > 1
}
