package vec

import (
	"math"
	"testing"

	"quern/kernels/internal/isa/isatest"
)

// TestExpNaN takes NaNs of every low payload: what vector code adds to the
// exponent of a result comes from those bits, and must not make a number of it.
func TestExpNaN(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for payload := uint32(1); payload < 1<<10; payload++ {
			for _, sign := range []uint32{0, 1 << 31} {
				x := make([]float32, 16)
				x[3] = math.Float32frombits(0x7fc00000 | sign | payload)
				if sum := ExpSum(x, 0); sum == sum || x[3] == x[3] {
					t.Fatalf("exp of NaN with payload %#x = %g, sum %g", payload, x[3], sum)
				}
			}
		}
	})
}
