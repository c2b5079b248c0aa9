//go:build amd64 && !noasm

package kernels

import "quern/kernels/internal/isa"

// vectors returns the vector kernels of the level in force.
func vectors() vector { return vectorLevels[isa.Current()] }

var vectorLevels = [...]vector{
	isa.Generic: {},
	isa.AVX2:    {lanes: 8, siluGate: siluGateAVX2, expSum: expSumAVX2},
	isa.AVX512:  {lanes: 16, siluGate: siluGateAVX512, expSum: expSumAVX512},
}
