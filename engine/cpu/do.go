package cpu

import (
	"context"
	"time"

	"quern/kernels/threads"
)

// Do implements graph.Backend.
func (b *Backend) Do(ctx context.Context, f func(pool *threads.Pool, yield func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.turn.take()
	defer b.turn.give()
	if err := ctx.Err(); err != nil { // it ended while this waited for the turn
		return err
	}
	start := time.Now()
	f(b.pool, func() { start = b.turn.yield(start) })
	return nil
}
