package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
)

func TestGemm(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := threads.NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(2, 1))
		for _, n := range []int{1, 15, 16, 17, 32, 50, 64, 70, 150} {
			for _, k := range []int{1, 3, 4, 7, 64, slab, slab + 5} {
				w, bias := kerneltest.Floats(r, n*k), kerneltest.Floats(r, n)
				rowsOf, columnsOf := NewPanels(n, k), NewPanels(n, k)
				rowsOf.PackRows(w, k)
				wt := make([]float32, n*k)
				for i := range w {
					wt[i%k*n+i/k] = w[i]
				}
				columnsOf.PackColumns(wt, n)
				g := NewGemm(rowsOf, bias)
				for _, rows := range []int{0, 1, 2, 3, 5, 6, 7, 13, 100} {
					if rows*n*k > 300_000 {
						continue
					}
					xs, ds := k+3, n+5
					x, dst := kerneltest.Floats(r, rows*xs), kerneltest.Guarded(rows, ds)
					g.Run(p, dst, ds, x, xs, rows, false)
					twice := append([]float32(nil), dst...)
					Multiply(twice, ds, x, xs, rows, columnsOf, nil, true)
					one := make([]float32, n)
					for i := range rows {
						Multiply(one, n, x[i*xs:], xs, 1, columnsOf, bias, false)
						for j := range ds {
							got := dst[i*ds+j]
							if j >= n {
								if got != kerneltest.Guard || twice[i*ds+j] != kerneltest.Guard {
									t.Fatalf("%d×%d×%d: wrote %g past row %d", rows, n, k, got, i)
								}
								continue
							}
							if math.Float32bits(got) != math.Float32bits(one[j]) {
								t.Fatalf("%d×%d×%d: [%d][%d] = %g in a batch, %g alone", rows, n, k, i, j, got, one[j])
							}
							want, mass := float64(bias[j]), math.Abs(float64(bias[j]))
							for l := range k {
								v := float64(x[i*xs+l]) * float64(w[j*k+l])
								want, mass = want+v, mass+math.Abs(v)
							}
							kerneltest.Within(t, got, want, mass*float64(k+1)*0x1p-24, "%d×%d×%d [%d][%d]", rows, n, k, i, j)
							kerneltest.Within(t, twice[i*ds+j], 2*want-float64(bias[j]), 2*mass*float64(k+2)*0x1p-24, "with add")
						}
					}
				}
			}
		}
	})
}

// A column is packed as it is after a product, a sum and a floor, and nothing beside it changes.
func TestPackAffine(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(2, 3))
		for _, n := range []int{1, 15, 16, 17, 32, 50, 160} {
			const k = 5
			x := kerneltest.Floats(r, n)
			got, want := NewPanels(n, k), NewPanels(n, k)
			before := kerneltest.Floats(r, n*k)
			got.PackColumns(before, n)
			want.PackColumns(before, n)
			y := make([]float32, n)
			for i, v := range x {
				y[i] = max(v*0.5+0.25, -0.125)
			}
			from := n / 2 / PanelWidth * PanelWidth // in two parts
			got.PackAffine(3, 0, x[:from], 0.5, 0.25, -0.125)
			got.PackAffine(3, from, x[from:], 0.5, 0.25, -0.125)
			want.PackColumn(3, y)
			for i, v := range want.Data() {
				if d := got.Data()[i] - v; !(d < 1e-6 && d > -1e-6) {
					t.Fatalf("%d: [%d] = %g, want %g", n, i, got.Data()[i], v)
				}
			}
			x[n/2] = float32(math.NaN())
			got.PackAffine(3, 0, x, 1, 0, 0)
			if v := got.Data()[n/2/PanelWidth*PanelWidth*k+3*PanelWidth+n/2%PanelWidth]; v == v {
				t.Errorf("%d: NaN is packed as %g", n, v)
			}
		}
	})
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct{ rows, n, k int }{{48, 64, 512}, {512, 2048, 2048}, {1500, 512, 512}, {1500, 2048, 512}, {1500, 512, 2048}, {1500, 1500, 64}, {1500, 64, 1500}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.rows, s.n, s.k), func(b *testing.B) {
			r := rand.New(rand.NewPCG(2, 4))
			p := threads.NewPool(1)
			defer p.Close()
			w, x, dst := NewPanels(s.n, s.k), kerneltest.Floats(r, s.rows*s.k), make([]float32, s.rows*s.n)
			w.PackRows(kerneltest.Floats(r, s.n*s.k), s.k)
			g := NewGemm(w, nil)
			b.ReportAllocs()
			for b.Loop() {
				g.Run(p, dst, s.n, x, s.k, s.rows, false)
			}
			kerneltest.Report(b, 2*float64(s.rows*s.n*s.k))
		})
	}
}

// BenchmarkGemmThreads multiplies as the layers of a Parakeet do, on two threads, without
// weights staying in a cache from product to product.
func BenchmarkGemmThreads(b *testing.B) {
	const rows, k, n = 375, 1024, 4096
	r := rand.New(rand.NewPCG(2, 5))
	p := threads.NewPool(2)
	defer p.Close()
	x, dst := kerneltest.Floats(r, rows*k), make([]float32, rows*n)
	var layers []*Gemm
	for range 4 {
		w := NewPanels(n, k)
		w.PackRows(kerneltest.Floats(r, n*k), k)
		layers = append(layers, NewGemm(w, nil))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, g := range layers {
			g.Run(p, dst, n, x, k, rows, false)
		}
	}
	kerneltest.Report(b, 2*float64(rows*n*k*len(layers)))
}

// A cut covers a product once, in whole tiles, with chunks enough for its workers where there
// is work enough.
func TestCut(t *testing.T) {
	for _, workers := range []int{1, 2, 8, 32} {
		for _, rows := range []int{1, 6, 47, 48, 100, 193, 375, 600, 1500, 5000} {
			for _, n := range []int{1, 16, 64, 65, 128, 500, 4096} {
				o := CutProduct(&Product{Rows: rows, N: n}, workers)
				if o.Down*o.Rows < rows || (o.Down-1)*o.Rows >= rows || o.Across*o.Columns < n || (o.Across-1)*o.Columns >= n {
					t.Fatalf("%d×%d for %d is cut %+v", rows, n, workers, o)
				}
				if o.Down > 1 && o.Rows%wholeRows != 0 || o.Across > 1 && o.Columns%wide != 0 {
					t.Errorf("%d×%d for %d is cut in parts of tiles, %+v", rows, n, workers, o)
				}
				if rows >= 4*leastRows*workers && o.Chunks() < workers {
					t.Errorf("%d×%d for %d is cut %+v", rows, n, workers, o)
				}
			}
		}
	}
}

// FuzzProduct holds the tiles of the host's level against the Go version.
func FuzzProduct(f *testing.F) {
	f.Add(uint8(7), uint8(22), uint8(9), uint8(3), uint8(2), true)
	f.Add(uint8(6), uint8(64), uint8(16), uint8(1), uint8(0), false)
	f.Add(uint8(13), uint8(95), uint8(3), uint8(0), uint8(7), true)
	f.Fuzz(func(t *testing.T, rows, n, k, taps, gap uint8, init bool) {
		c := Product{Rows: int(rows % 32), N: int(n%100) + 1, K: int(k%70) + 1, Taps: int(taps % 5)}
		if c.Rows == 0 {
			return
		}
		r := rand.New(rand.NewPCG(uint64(rows)<<8|uint64(n), uint64(k)<<8|uint64(taps)))
		c.XStride, c.TapStride, c.DstStride = int(gap), c.K+int(gap%3), c.N+int(gap%5)
		c.WStride = c.Taps*c.K*PanelWidth + PanelWidth
		c.X = kerneltest.Floats(r, c.Rows*c.XStride+c.Taps*c.TapStride+c.K)
		c.W = kerneltest.Floats(r, (c.N+PanelWidth-1)/PanelWidth*c.WStride)
		if init {
			c.Init, c.InitStride = kerneltest.Floats(r, c.Rows*c.DstStride), c.DstStride
		}
		want := c
		c.Dst, want.Dst = kerneltest.Guarded(c.Rows, c.DstStride), kerneltest.Guarded(c.Rows, c.DstStride)
		c.tiles()
		want.tilesGo()
		for i, v := range want.Dst {
			// Sums of taps·k products of normal numbers, and what they start from.
			if math.Abs(float64(v-c.Dst[i])) > 1e-5*math.Sqrt(float64(c.Taps*c.K+1))*4 || v == kerneltest.Guard && c.Dst[i] != kerneltest.Guard {
				t.Fatalf("%d×%d×%d×%d: [%d] = %g, want %g", c.Rows, c.N, c.Taps, c.K, i, c.Dst[i], v)
			}
		}
	})
}
