package cpu

import (
	"time"

	"quern/kernels"
	"quern/kernels/quant"
)

// ReadBandwidth measures how fast the pool reads memory, in bytes per second:
// the ceiling of decoding. It reads 256 MiB, far beyond any cache, with the
// kernel that does least besides reading, and takes the best of a few passes.
func (b *Backend) ReadBandwidth() float64 {
	const size, row, chunk = 256 << 20, 8 << 10, 1 << 20
	data, free, err := reserve(size)
	if err != nil {
		return 0
	}
	defer func() { _ = free() }()
	for i := 0; i < size; i += 4096 {
		data[i] = 1 // a page never written is the zero page, which caches hold
	}
	x := quant.Floats(make([]float32, row/4))
	sums := make([][chunk / row]float32, b.pool.Workers())
	region := &kernels.Region{F: func(w, c int) {
		quant.F32.DotRows(sums[w][:], chunk/row, data[c*chunk:(c+1)*chunk], chunk/row, row/4, x, row, 1)
	}}
	b.mu.Lock()
	defer b.mu.Unlock()
	best := 0.0
	for range 6 {
		start := time.Now()
		b.pool.Run(size/chunk, region)
		best = max(best, size/time.Since(start).Seconds())
	}
	return best
}
