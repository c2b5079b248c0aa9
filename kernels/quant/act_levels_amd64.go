//go:build amd64 && !noasm

package quant

import "quern/kernels/internal/isa"

// acts returns the assembly of the level in force.
func acts() *actKernel { return &actLevels[min(isa.Current(), isa.AVX512)] }

var actLevels = [isa.AVX512 + 1]actKernel{
	isa.AVX2:   {topAVX2, roundQ8_256AVX2, roundQ8_32AVX2},
	isa.AVX512: {topAVX2, roundQ8_256AVX2, roundQ8_32AVX2},
}
