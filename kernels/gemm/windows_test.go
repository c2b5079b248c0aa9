package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

// The bits are those of a product with the columns packed.
func TestWindows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 1))
		for _, rows := range []int{0, 1, 2, 3, 6, 7, 13} {
			for _, n := range []int{16, 32, 48, 64, 112, 144} {
				for _, k := range []int{0, 1, 3, 4, 9, 100} {
					source, at := kerneltest.Floats(r, 300), make([]uint32, k)
					for i := range at {
						at[i] = uint32(r.IntN(len(source) - n + 1))
					}
					x, dst := kerneltest.Floats(r, rows*(k+2)), kerneltest.Guarded(rows, n+3)
					w := Windows{Dst: dst, DstStride: n + 3, X: x, XStride: k + 2, Rows: rows, Source: source, At: at, N: n}
					w.Run()
					want := make([]float32, rows*n)
					if k > 0 {
						p := NewPanels(n, k)
						for i, from := range at {
							p.PackColumn(i, source[from:][:n])
						}
						Multiply(want, n, x, k+2, rows, p, nil, false)
					}
					for i, v := range dst {
						if j := i % (n + 3); j >= n {
							if v != kerneltest.Guard {
								t.Fatalf("%d×%d×%d: wrote %g past a row", rows, n, k, v)
							}
						} else if u := want[i/(n+3)*n+j]; math.Float32bits(v) != math.Float32bits(u) {
							t.Fatalf("%d×%d×%d: [%d][%d] = %g, want %g", rows, n, k, i/(n+3), j, v, u)
						}
					}
				}
			}
		}
	})
}

func TestWindowsBounds(t *testing.T) {
	for name, w := range map[string]Windows{
		"columns":     {Dst: make([]float32, 20), X: make([]float32, 1), Rows: 1, Source: make([]float32, 40), At: []uint32{0}, N: 20},
		"source":      {Dst: make([]float32, 16), X: make([]float32, 1), Rows: 1, Source: make([]float32, 40), At: []uint32{25}, N: 16},
		"destination": {Dst: make([]float32, 31), DstStride: 16, X: make([]float32, 1), Rows: 2, Source: make([]float32, 40), At: []uint32{0}, N: 16},
		"rows":        {Dst: make([]float32, 32), DstStride: 16, X: make([]float32, 1), XStride: 1, Rows: 2, Source: make([]float32, 40), At: []uint32{0}, N: 16},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			w.Run()
		})
	}
}

// A convolution of 128 channels by 11 taps, 256 steps of one row more than the other: its
// products, next to those with columns that were packed before.
func BenchmarkWindows(b *testing.B) {
	const channels, taps, n, out = 128, 11, 256, 126
	r := rand.New(rand.NewPCG(7, 2))
	source, x := kerneltest.Floats(r, channels*(n+taps)), kerneltest.Floats(r, out*channels*taps)
	at := make([]uint32, channels*taps)
	for i := range at {
		at[i] = uint32(i/taps*(n+taps) + i%taps)
	}
	dst := make([]float32, out*n)
	p := NewPanels(n, len(at))
	b.Run("packed", func(b *testing.B) {
		for b.Loop() {
			for i, from := range at {
				p.PackColumn(i, source[from:][:n])
			}
			Multiply(dst, n, x, len(at), out, p, nil, false)
		}
		b.ReportMetric(float64(b.N)*out*n*float64(len(at))/b.Elapsed().Seconds()/1e9, "GMAC/s")
	})
	b.Run("windows", func(b *testing.B) {
		w := Windows{Dst: dst, DstStride: n, X: x, XStride: len(at), Rows: out, Source: source, At: at, N: n}
		for b.Loop() {
			w.Run()
		}
		b.ReportMetric(float64(b.N)*out*n*float64(len(at))/b.Elapsed().Seconds()/1e9, "GMAC/s")
	})
}
