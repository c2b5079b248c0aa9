//go:build !noasm

package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
)

// TestAMXInt8 holds products of bytes at AMX to the bits they have at AVX-512.
func TestAMXInt8(t *testing.T) {
	kerneltest.NeedAMX(t)
	p := threads.NewPool(1)
	defer p.Close()
	r := rand.New(rand.NewPCG(21, 1))
	for _, s := range []struct{ rows, n, k int }{
		{32, 32, 64}, {32, 17, 64}, {33, 33, 65}, {32, 48, 67}, {40, 47, 256}, {8, 64, 257}, {9, 32, 300}, {31, 64, 100}, {39, 81, 300},
		{47, 31, 259}, {64, 150, 130}, {100, 65, 192}, {193, 32, 68}, {32, 16, 256}, {7, 64, 1024}, {32, 64, 60}, {64, 32, 33_000},
	} {
		w, scale, bias := NewInt8Panels(s.n, s.k), kerneltest.Floats(r, s.n), kerneltest.Floats(r, s.n)
		weights := make([]byte, s.n*s.k)
		for i := range weights {
			if weights[i] = byte(r.IntN(256)); s.k > 30_000 {
				weights[i] = 128 // as large as sums become
			}
		}
		w.PackColumns(weights, s.n, false)
		g := NewInt8Gemm(w, scale, bias)
		xs, ds := w.Stride()+3, s.n+5
		x := make([]byte, s.rows*xs)
		for i := range x {
			if x[i] = byte(r.IntN(256)); s.k > 30_000 {
				x[i] = 255
			}
		}
		var results [2][]float32
		var ints [2][]int32
		for i, level := range []isa.Level{isa.AVX512, isa.AMX} {
			undo := isa.Set(level)
			results[i], ints[i] = kerneltest.Guarded(s.rows, ds), make([]int32, s.rows*ds)
			g.RunInts(p, ints[i], ds, x, xs, s.rows, 77)
			g.RunFloats(p, results[i], ds, x, xs, s.rows, 77, 0.01, nil)
			undo()
		}
		for i, want := range results[0] {
			if got := results[1][i]; math.Float32bits(got) != math.Float32bits(want) || ints[0][i] != ints[1][i] {
				t.Fatalf("%d×%d×%d [%d][%d]: %g and %d at amx, %g and %d at avx512", s.rows, s.n, s.k, i/ds, i%ds, got, ints[1][i], want, ints[0][i])
			}
		}
	}
}
