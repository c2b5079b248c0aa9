package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

func TestRope(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		testRope(t, 16, 6)
		testRope(t, 48, 21) // whole vectors, and some left over
		testRope(t, 64, 32)
	})
}

func testRope(t *testing.T, dim, pairs int) {
	r := rand.New(rand.NewPCG(1, 3))
	const heads = 3
	freqs := make([]float64, pairs)
	for i := range freqs {
		freqs[i] = math.Pow(10000, -float64(i)/float64(pairs))
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
			undo := isa.Set(isa.Generic)
			plain := make([]float32, len(x))
			Rope(plain, x, dim, cos, sin, interleaved)
			undo()
			if !slices.Equal(dst, plain) {
				t.Fatalf("interleaved=%v pos=%d: %g, want what Go computes, %g", interleaved, pos, dst, plain)
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

func BenchmarkRope(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 4))
	for _, interleaved := range []bool{false, true} {
		b.Run(fmt.Sprintf("interleaved=%v", interleaved), func(b *testing.B) {
			const heads, dim = 32, 64
			x := kerneltest.Floats(r, heads*dim)
			cos, sin := kerneltest.Floats(r, dim/2), kerneltest.Floats(r, dim/2)
			dst := make([]float32, len(x))
			b.SetBytes(4 * heads * dim)
			for b.Loop() {
				Rope(dst, x, dim, cos, sin, interleaved)
			}
		})
	}
}
