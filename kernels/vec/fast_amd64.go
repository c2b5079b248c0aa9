//go:build amd64 && !noasm

package vec

import "quern/kernels/internal/isa"

// vectors returns the vector kernels of the level in force.
func vectors() *vector { return &vectorLevels[isa.Current()] }

var vectorLevels = [...]vector{
	isa.Generic: {},
	isa.AVX2: {8, siluGateAVX2, expSumAVX2, &points{
		tanhAVX2, sigmoidAVX2, sinAVX2, geluAVX2, geluTanhAVX2, leakyAVX2, snakeAVX2, columnSumsAVX2, columnSquaresAVX2,
		sumAVX2, squaresAVX2, normalAVX2, scaleMaxAVX2, scaleAVX2, addAVX2, mulAVX2, maxAVX2, plusAVX2, affineAVX2, bendAVX2, ropeAdjacentAVX2, ropeHalvesAVX2,
	}},
	isa.AVX512: {16, siluGateAVX512, expSumAVX512, &points{
		tanhAVX512, sigmoidAVX512, sinAVX512, geluAVX512, geluTanhAVX512, leakyAVX512, snakeAVX512, columnSumsAVX512, columnSquaresAVX512,
		sumAVX512, squaresAVX512, normalAVX512, scaleMaxAVX512, scaleAVX512, addAVX512, mulAVX512, maxAVX512, plusAVX512, affineAVX512, bendAVX512, ropeAdjacentAVX2, ropeHalvesAVX2,
	}},
}

// exps replaces every x by eˣ, in whole vectors and then one by one: an element's bits
// depend on its index and the CPU level. The assembly is called by name, not through
// vectors, so that x does not escape to the heap.
func exps(x []float32) {
	done := 0
	switch level := isa.Current(); {
	case level >= isa.AVX512:
		if done = len(x) &^ 15; done > 0 {
			expSumAVX512(&x[0], done, 0)
		}
	case level >= isa.AVX2:
		if done = len(x) &^ 7; done > 0 {
			expSumAVX2(&x[0], done, 0)
		}
	}
	for i := done; i < len(x); i++ {
		x[i] = ExpScalar(x[i])
	}
}

func maskMaxFast(x, bias []float32, by float32, top *float32) int {
	n := len(x) &^ 15
	if isa.Current() < isa.AVX512 || n == 0 {
		return 0
	}
	*top = maskMaxAVX512(&x[0], &bias[0], n, by)
	return n
}

// Prefetch loads the cache lines of b, which will be read soon.
func Prefetch(b []byte) {
	if len(b) > 0 {
		prefetchLines(&b[0], len(b))
	}
}
