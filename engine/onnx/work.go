package onnx

import (
	"sync/atomic"

	"quern/kernels/threads"
)

func one(t *Tensor) []*Tensor { return []*Tensor{t} }

// spreadOut calls f for every i below n on the pool, each worker with its
// number. A panic of f becomes one of the call.
func (c *call) spreadOut(n int, f func(worker, i int)) {
	var failed atomic.Pointer[any]
	c.pool().Run(n, &threads.Region{F: func(worker, i int) {
		defer func() {
			if p := recover(); p != nil {
				failed.CompareAndSwap(nil, &p)
			}
		}()
		f(worker, i)
	}})
	if p := failed.Load(); p != nil {
		panic(*p)
	}
}

// perChunk is how many elements of cheap work make a chunk for the pool.
const perChunk = 1 << 14

// byRows calls f for stretches of rows of width elements, on the pool where
// there is enough of them.
func (c *call) byRows(rows, width int, f func(from, to int)) {
	per := max(1, perChunk/max(1, width))
	c.spreadOut((rows+per-1)/per, func(_, i int) { f(i*per, min(rows, (i+1)*per)) })
}
