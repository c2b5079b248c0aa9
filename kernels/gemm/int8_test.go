package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

func TestInt8Gemm(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := threads.NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(5, 1))
		for _, n := range []int{1, 15, 16, 17, 33, 64, 81, 150} {
			for _, k := range []int{1, 3, 4, 5, 17, 64, 259, floatSlab + 3} {
				w, scale, bias := make([]int8, n*k), kerneltest.Floats(r, n), kerneltest.Floats(r, n)
				for i := range w {
					w[i] = int8(r.IntN(256) - 128)
				}
				if n == 16 { // as large as sums become
					for i := range w {
						w[i] = -128
					}
				}
				panels := NewInt8Panels(n, k)
				wt := make([]byte, n*k)
				flip := byte(k & 1 * 128)
				for i, v := range w {
					wt[i%k*n+i/k] = byte(v) ^ flip
				}
				panels.PackColumns(wt, n, flip != 0)
				g := NewInt8Gemm(panels, scale, bias)
				for _, rows := range []int{0, 1, 2, 3, 7, 13, 100} {
					if rows*n*k > 300_000 {
						continue
					}
					xs, ds := panels.Stride()+3, n+5
					x, got := make([]byte, rows*xs), kerneltest.Guarded(rows, ds)
					for i := range x {
						x[i] = byte(r.IntN(256))
						if n == 16 {
							x[i] = 255
						}
					}
					ints := make([]int32, rows*ds)
					for i := range ints {
						ints[i] = kerneltest.Guard
					}
					zero := int32(r.IntN(256))
					g.RunInts(p, ints, ds, x, xs, rows, zero)
					g.RunFloats(p, got, ds, x, xs, rows, zero, 0.01, func(_ int, row []float32) { vec.Scale(row, row, 2) })
					for i := range rows {
						for j := range ds {
							want, f := int32(kerneltest.Guard), float32(kerneltest.Guard)
							if j < n {
								want = 0
								for l := range k {
									want += (int32(x[i*xs+l]) - zero) * int32(w[j*k+l])
								}
								s := 0.01 * scale[j]
								f = 2 * (float32(float32(want)*s) + bias[j])
							}
							// Sums below 2²⁴ are exact, and so is all at most levels.
							near := max(f-got[i*ds+j], got[i*ds+j]-f) <= 1e-6*max(f, -f) && max(want, -want) >= 1<<24
							if ints[i*ds+j] != want || got[i*ds+j] != f && !near {
								t.Fatalf("%d×%d×%d [%d][%d]: got %d and %g, want %d and %g", rows, n, k, i, j, ints[i*ds+j], got[i*ds+j], want, f)
							}
						}
					}
				}
			}
		}
	})
}

func TestQuantizeBytes(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 2))
		for _, n := range []int{0, 1, 15, 16, 17, 64, 100} {
			x := kerneltest.Floats(r, n)
			copy(x, []float32{1.5, 2.5, -1.5, nan, inf, -inf, 1e30, -1e30, 127, 128, 300})
			dst := make([]byte, n+1)
			dst[n] = 77
			QuantizeBytes(dst, x, 0.5, 100)
			low, high := Range(x)
			var lowest, highest float32
			for i, v := range x {
				want := byte(0)
				if v == v {
					want = byte(max(0, min(255, math.RoundToEven(float64(v/0.5))+100)))
					lowest, highest = min(lowest, v), max(highest, v)
				}
				if dst[i] != want {
					t.Errorf("QuantizeBytes of %g: got %d, want %d", v, dst[i], want)
				}
			}
			var lanes [32]float32
			for i := 0; i < n; i += 17 {
				RangeLanes(&lanes, x[i:min(i+17, n)])
			}
			if a, b := slices.Min(lanes[:16]), slices.Max(lanes[16:]); a != lowest || b != highest {
				t.Errorf("RangeLanes of %d: got %g, %g; want %g, %g", n, a, b, lowest, highest)
			}
			if low != lowest || high != highest || dst[n] != 77 {
				t.Errorf("Range of %d: got %g, %g; want %g, %g; guard %d", n, low, high, lowest, highest, dst[n])
			}
		}
	})
}

func BenchmarkInt8Gemm(b *testing.B) {
	for _, s := range []struct{ rows, n, k int }{{128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {128, 384, 384}, {1, 768, 3072}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.rows, s.n, s.k), func(b *testing.B) {
			p := threads.NewPool(1)
			defer p.Close()
			w := NewInt8Panels(s.n, s.k)
			weights := make([]byte, s.n*s.k)
			for i := range weights {
				weights[i] = byte(i * 7)
			}
			w.PackColumns(weights, s.n, false)
			g := NewInt8Gemm(w, []float32{1}, nil)
			x, dst := make([]byte, s.rows*s.k), make([]float32, s.rows*s.n)
			b.SetBytes(int64(s.n * s.k))
			b.ReportAllocs()
			for b.Loop() {
				g.RunFloats(p, dst, s.n, x, s.k, s.rows, 128, 0.1, nil)
			}
			b.ReportMetric(float64(s.rows*s.n*s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
