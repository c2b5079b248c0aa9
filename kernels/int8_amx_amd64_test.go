//go:build !noasm

package kernels

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

func needAMX(t testing.TB) {
	t.Helper()
	if isa.Host() < isa.AMX {
		t.Skip("this CPU has no AMX; kernels/internal/amxrun runs this test without it")
	}
}

// TestAMXInt8 holds products of bytes at AMX to the bits they have at AVX-512.
func TestAMXInt8(t *testing.T) {
	needAMX(t)
	p := NewPool(1)
	defer p.Close()
	r := rand.New(rand.NewPCG(21, 1))
	for _, s := range []struct{ rows, n, k int }{
		{32, 32, 64}, {32, 17, 64}, {33, 33, 65}, {32, 48, 67}, {40, 47, 256}, {8, 64, 257}, {9, 32, 300}, {31, 64, 100}, {39, 81, 300},
		{47, 31, 259}, {64, 150, 130}, {100, 65, 192}, {193, 32, 68}, {32, 16, 256}, {7, 64, 1024}, {32, 64, 60}, {64, 32, 33_000},
	} {
		w, scale, bias := NewInt8Panels(s.n, s.k), floats(r, s.n), floats(r, s.n)
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
			results[i], ints[i] = guarded(s.rows, ds), make([]int32, s.rows*ds)
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

// TestAMXThreads has several threads use tiles at once, while the collector runs
// and stops them.
func TestAMXThreads(t *testing.T) {
	needAMX(t)
	const out, in, batch, callers = 64, 512, 35, 3
	r := rand.New(rand.NewPCG(22, 1))
	l := quant.Q4_K.Layout()
	w := make([]byte, out*in/l.Block*l.Bytes)
	l.Encode(w, floats(r, out*in))
	x := make([]byte, batch*quant.ActBytes(l.With, in))
	Quantize(x, l.With, floats(r, batch*in), in)
	run := func() []float32 {
		p := NewPool(2)
		defer p.Close()
		dst := make([]float32, batch*out)
		NewMatMul(quant.Q4_K, w, out, in, nil).Run(p, dst, x, quant.ActBytes(l.With, in), batch)
		return dst
	}
	undo := isa.Set(isa.AVX512)
	want := run()
	undo()
	defer isa.Set(isa.AMX)()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range 5 {
				for i, got := range run() {
					if math.Float32bits(got) != math.Float32bits(want[i]) {
						t.Errorf("result %d = %g, want %g", i, got, want[i])
						return
					}
				}
				runtime.GC()
			}
		})
	}
	wg.Wait()
}
