//go:build amd64 && !noasm

package kernels

import "quern/kernels/internal/isa"

// vectors returns the vector kernels of the level in force.
func vectors() *vector { return &vectorLevels[isa.Current()] }

var vectorLevels = [...]vector{
	isa.Generic: {},
	isa.AVX2: {8, siluGateAVX2, expSumAVX2, &points{
		sinAVX2, tanhAVX2, sigmoidAVX2, geluAVX2, geluTanhAVX2, leakyAVX2, snakeAVX2, columnSumsAVX2, columnSquaresAVX2,
		sumAVX2, squaresAVX2, normalAVX2, scaleMaxAVX2, scaleAVX2, addAVX2,
	}},
	isa.AVX512: {16, siluGateAVX512, expSumAVX512, &points{
		sinAVX512, tanhAVX512, sigmoidAVX512, geluAVX512, geluTanhAVX512, leakyAVX512, snakeAVX512, columnSumsAVX512, columnSquaresAVX512,
		sumAVX512, squaresAVX512, normalAVX512, scaleMaxAVX512, scaleAVX512, addAVX512,
	}},
}
