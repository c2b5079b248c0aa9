package cpu

import (
	"time"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// ReadBandwidth implements graph.Backend. It reads with the kernel that does least
// besides, and takes the best of a few passes.
func (b *Backend) ReadBandwidth(data [][]byte) float64 {
	const row, chunk = 8 << 10, 256 << 10
	var chunks [][]byte
	for _, d := range data {
		for len(d) >= chunk {
			chunks, d = append(chunks, d[:chunk]), d[chunk:]
		}
	}
	x := quant.Floats(make([]float32, row/4))
	sums := make([][chunk / row]float32, b.pool.Workers())
	region := &threads.Region{F: func(w, c int) {
		dot.Rows(quant.F32, sums[w][:], chunk/row, chunks[c], chunk/row, row/4, x, row, 1)
	}}
	b.turn.take()
	defer b.turn.give()
	best := 0.0
	for range 4 {
		start := time.Now()
		b.pool.Run(len(chunks), region)
		best = max(best, float64(len(chunks)*chunk)/time.Since(start).Seconds())
	}
	return best
}
