//go:build !noasm

package kernels

import (
	"math"
	"testing"

	"quern/kernels/internal/isa"
)

// TestExpNaN takes NaNs of every low payload: what is added to the exponent of a
// result comes from those bits, and must not make a number of it.
func TestExpNaN(t *testing.T) {
	if isa.Host() == isa.Generic {
		t.Skip("no assembly")
	}
	for payload := uint32(1); payload < 1<<10; payload++ {
		for _, sign := range []uint32{0, 1 << 31} {
			x := make([]float32, 8)
			x[3] = math.Float32frombits(0x7fc00000 | sign | payload)
			if sum := expSumNEON(&x[0], len(x), 0); sum == sum || x[3] == x[3] {
				t.Fatalf("exp of NaN with payload %#x = %g, sum %g", payload, x[3], sum)
			}
		}
	}
}
