//go:build !noasm

package vec

import "quern/kernels/internal/isa"

// vectors returns the vector kernels of the level in force; every level above
// the first has the same.
func vectors() *vector {
	if isa.Current() == isa.Generic {
		return &vectorLevels[0]
	}
	return &vectorLevels[1]
}

var vectorLevels = [...]vector{{}, {lanes: 8, siluGate: siluGateNEON, expSum: expSumNEON}}

// siluGateNEON is SiLUGate for n floats, n a positive multiple of 8.
//
//go:noescape
func siluGateNEON(dst, gate, up *float32, n int)

// expSumNEON replaces n floats by exp(x - top) and returns their sum, n a
// positive multiple of 8.
//
//go:noescape
func expSumNEON(x *float32, n int, top float32) (sum float32)
