//go:build amd64 && !noasm

package kernels

import "quern/kernels/internal/isa"

func widenFast(lanes *[32]float32, x []float32) int {
	n := len(x) &^ 15
	if isa.Current() < isa.AVX512 || n == 0 {
		return 0
	}
	var seen [32]float32
	rangeAVX512(&x[0], n, &seen[0])
	for i, v := range seen[:16] {
		if v < lanes[i] {
			lanes[i] = v
		}
	}
	for i, v := range seen[16:] {
		if v > lanes[16+i] {
			lanes[16+i] = v
		}
	}
	return n
}
