package quant

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
)

// TestQuantizeLevels: activations have the same bytes at every level, broken and tiny
// values included.
func TestQuantizeLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	values := map[string]func() float32{
		"normal": func() float32 { return float32(r.NormFloat64()) },
		"wide":   func() float32 { return float32(math.Exp(40*r.Float64()-20)) * float32(r.IntN(3)-1) },
		"ties":   func() float32 { return float32(r.IntN(509)-254) / 2 },
		"tiny":   func() float32 { return float32(r.IntN(600)-300) * 0x1p-130 },
		"huge":   func() float32 { return math.MaxFloat32 * float32(r.IntN(3)-1) },
		"broken": func() float32 {
			if r.IntN(200) == 0 {
				return float32(math.Inf(1 - 2*r.IntN(2)))
			}
			return float32(r.NormFloat64())
		},
	}
	for name, value := range values {
		for _, n := range []int{256, 512, 544, 1000, 4096} {
			x := make([]float32, n)
			for i := range x {
				x[i] = value()
			}
			for _, typ := range []Type{ActQ8_32, ActQ8_256} {
				var want []byte
				for l := isa.Generic; l <= isa.Host(); l++ {
					undo := isa.Set(l)
					got := bytes.Repeat([]byte{0xaa}, ActBytes(typ, n))
					typ.Layout().Encode(got, x)
					undo()
					if l == isa.Generic {
						want = got
					}
					if i := firstDifference(got, want); i >= 0 {
						t.Fatalf("%s: %d values as %v at %v: byte %d of group %d is %d, want %d", name, n, typ, l, i%GroupBytes, i/GroupBytes, got[i], want[i])
					}
				}
			}
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
