package asr

import (
	"context"
	"sync"

	"quern/engine/kv"
)

// blockSize is how many tokens a block of the cache holds.
const blockSize = 32

// blocksFor returns how many blocks n tokens take.
func blocksFor(n int) int { return (n + blockSize - 1) / blockSize }

// blocks are those of the cache, for all windows. A window first reserves all
// it may come to need, in the order of asking, and then never waits again: what
// two windows hold cannot keep both from going on.
type blocks struct {
	mu      sync.Mutex
	pool    *kv.Pool
	spare   int // blocks that are not reserved
	waiters []*waiter
}

type waiter struct {
	need  int
	ready chan struct{}
}

func newBlocks(n int) *blocks { return &blocks{pool: kv.NewPool(n, blockSize), spare: n} }

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

// unreserve gives n blocks back, which its sequences do not refer to any more.
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

// take returns a block with one user.
func (b *blocks) take() int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved(b.pool.Alloc())
}

// reserved panics when there was no block left, which a reservation rules out.
func (b *blocks) reserved(id int32, ok bool) int32 {
	if !ok {
		panic("asr: more blocks are used than were reserved")
	}
	return id
}

// own makes block i of a table the table's own, as kv.Pool.Own does.
func (b *blocks) own(c kv.Copier, table []int32, i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved(table[i], b.pool.Own(c, table, i))
}

// retain adds a user to every block of a table.
func (b *blocks) retain(table []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.AcquireAll(table)
}

// release takes a user from every block of a table.
func (b *blocks) release(table []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.ReleaseAll(table)
}
