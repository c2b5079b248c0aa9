package cpu

import (
	"context"
	"time"

	"quern/kernels/threads"
)

// Do calls f when nobody else uses the pool. f calls yield between its steps,
// which lets others in that have waited long enough.
func (b *Backend) Do(ctx context.Context, f func(pool *threads.Pool, yield func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.turn.take()
	defer b.turn.give()
	start := time.Now()
	f(b.pool, func() { start = b.turn.yield(start) })
	return nil
}
