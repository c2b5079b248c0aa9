package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

func TestFunctions(t *testing.T) {
	gelu := func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }
	geluTanh := func(x float64) float64 {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	for _, tt := range []struct {
		name     string
		f        func(dst, x []float32)
		want     func(float64) float64
		lo, hi   float64
		abs, rel float64
	}{
		{"sin", Sin, math.Sin, -20, 20, 3e-7, 0},
		{"sin far", Sin, math.Sin, -1 << 22, 1 << 22, 3e-7, 0},
		{"exp", Exp, math.Exp, -87, 88, 0, 4 * 0x1p-23},
		{"tanh", Tanh, math.Tanh, -20, 20, 4 * 0x1p-23, 0},
		{"sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -80, 100, 0, 4 * 0x1p-23},
		{"gelu", func(dst, x []float32) { GELU(dst, x, nil) }, gelu, -12, 12, 1e-6, 2e-7},
		{"gelu tanh", func(dst, x []float32) { GELUTanh(dst, x, nil) }, geluTanh, -7, 7, 1e-12, 16 * 0x1p-23},
	} {
		t.Run(tt.name, func(t *testing.T) {
			isatest.Each(t, func(t *testing.T) {
				for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 20_003} {
					x, dst := make([]float32, n), make([]float32, n+1)
					dst[n] = kerneltest.Guard
					for i := range x {
						x[i] = float32(tt.lo + (tt.hi-tt.lo)*float64(i)/float64(max(1, n-1)))
					}
					tt.f(dst[:n], x)
					for i, v := range x {
						want := tt.want(float64(v))
						kerneltest.Within(t, dst[i], want, tt.abs+tt.rel*math.Abs(want), "n=%d f(%g)", n, v)
					}
					if dst[n] != kerneltest.Guard {
						t.Fatalf("n=%d: wrote %g past the end", n, dst[n])
					}
					tt.f(x, x)
					for i := range x {
						if x[i] != dst[i] {
							t.Fatalf("in place: [%d] = %g, want %g", i, x[i], dst[i])
						}
					}
				}
				for _, n := range []int{1, 16} {
					x := make([]float32, n)
					x[0] = float32(math.NaN())
					if tt.f(x, x); x[0] == x[0] {
						t.Errorf("n=%d: f(NaN) = %g", n, x[0])
					}
				}
			})
		})
	}
}

func BenchmarkFunctions(b *testing.B) {
	const n = 4096
	r := rand.New(rand.NewPCG(3, 6))
	x, dst := kerneltest.Floats(r, n), make([]float32, n)
	for _, tt := range []struct {
		name string
		f    func(dst, x []float32)
	}{
		{"tanh", Tanh}, {"sigmoid", Sigmoid}, {"sin", Sin},
		{"gelu", func(dst, x []float32) { GELU(dst, x, nil) }},
		{"gelu tanh", func(dst, x []float32) { GELUTanh(dst, x, nil) }},
		{"layer norm", func(dst, y []float32) { LayerNorm(dst, y, x, x, 1e-5) }},
		{"rms norm", func(dst, y []float32) { RMSNorm(dst, y, x, 1e-5) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				tt.f(dst, x)
			}
		})
	}
}
