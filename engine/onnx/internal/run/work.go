package run

import "quern/kernels/threads"

// SpreadOut calls f for every i below n on the pool, each worker with its
// number. A panic of f becomes one of the call.
func (c *Call) SpreadOut(n int, f func(worker, i int)) {
	c.Pool().Run(n, &threads.Region{F: f})
}

// PerChunk is how many elements of cheap work make a chunk for the pool.
const PerChunk = 1 << 14

// ByRows calls f for stretches of rows of width elements, on the pool where
// there is enough of them.
func (c *Call) ByRows(rows, width int, f func(from, to int)) {
	per := max(1, PerChunk/max(1, width))
	c.SpreadOut((rows+per-1)/per, func(_, i int) { f(i*per, min(rows, (i+1)*per)) })
}
