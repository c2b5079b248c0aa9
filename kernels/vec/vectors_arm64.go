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
