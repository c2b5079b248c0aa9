package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/kerneltest"
)

func TestRope(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const heads, dim, pairs = 3, 16, 6
	freqs := make([]float64, pairs)
	for i := range freqs {
		freqs[i] = math.Pow(10000, -float64(i)/pairs)
	}
	for _, interleaved := range []bool{false, true} {
		for _, pos := range []int32{0, 1, 77, 131071} {
			x := kerneltest.Floats(r, heads*dim)
			cos, sin := make([]float32, pairs), make([]float32, pairs)
			RopeTable(cos, sin, pos, freqs, 1.5)
			dst := make([]float32, len(x))
			Rope(dst, x, dim, cos, sin, interleaved)
			for h := range heads {
				for i := range dim {
					at := h*dim + i
					if i >= 2*pairs {
						if dst[at] != x[at] {
							t.Fatalf("value %d of a head changed", i)
						}
						continue
					}
					pair, first, other := i%pairs, i < pairs, (i+pairs)%(2*pairs)
					if interleaved {
						pair, first, other = i/2, i%2 == 0, i^1
					}
					s, c := math.Sincos(float64(pos) * freqs[pair])
					a, b := float64(x[at]), float64(x[h*dim+other])
					want := 1.5 * (a*c - b*s)
					if !first {
						want = 1.5 * (b*s + a*c)
					}
					kerneltest.Within(t, dst[at], want, 1e-5, "interleaved=%v pos=%d [%d]", interleaved, pos, i)
				}
			}
			Rope(x, x, dim, cos, sin, interleaved)
			for i := range x {
				if x[i] != dst[i] {
					t.Fatalf("in place: [%d] = %g, want %g", i, x[i], dst[i])
				}
			}
		}
	}
}
