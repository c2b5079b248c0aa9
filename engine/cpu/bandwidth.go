package cpu

import "quern/kernels/bandwidth"

// ReadBandwidth implements graph.Backend.
func (b *Backend) ReadBandwidth(data [][]byte) float64 {
	b.turn.take()
	defer b.turn.give()
	return bandwidth.Measure(b.pool, data)
}
