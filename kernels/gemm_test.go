package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
)

// guard stands where nothing may be written.
const guard = 12345

// guarded returns rows of stride floats that are all guards.
func guarded(rows, stride int) []float32 {
	f := make([]float32, rows*stride)
	for i := range f {
		f[i] = guard
	}
	return f
}

func TestGemm(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(2, 1))
		for _, n := range []int{1, 15, 16, 17, 32, 50, 64, 70, 150} {
			for _, k := range []int{1, 3, 4, 7, 64, slab, slab + 5} {
				w, bias := floats(r, n*k), floats(r, n)
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
					x, dst := floats(r, rows*xs), guarded(rows, ds)
					g.Run(p, dst, ds, x, xs, rows, false)
					twice := append([]float32(nil), dst...)
					Multiply(twice, ds, x, xs, rows, columnsOf, nil, true)
					one := make([]float32, n)
					for i := range rows {
						Multiply(one, n, x[i*xs:], xs, 1, columnsOf, bias, false)
						for j := range ds {
							got := dst[i*ds+j]
							if j >= n {
								if got != guard || twice[i*ds+j] != guard {
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
							within(t, fmt.Sprintf("%d×%d×%d [%d][%d]", rows, n, k, i, j), got, want, mass*float64(k+1)*0x1p-24)
							within(t, "with add", twice[i*ds+j], 2*want-float64(bias[j]), 2*mass*float64(k+2)*0x1p-24)
						}
					}
				}
			}
		}
	})
}

// slowConv is Conv in float64, by its definition.
func slowConv(w, x, bias []float32, out, taps, in, rows, count int, o ConvOptions) []float64 {
	y := make([]float64, count*out)
	for t := range count {
		for c := range out {
			s := 0.0
			if bias != nil {
				s = float64(bias[c])
			}
			for j := range taps {
				at := t*max(1, o.Stride) + j*max(1, o.Dilation) - o.Left
				if at < 0 || at >= rows {
					continue
				}
				for i := range in {
					s += float64(w[(c*taps+j)*in+i]) * float64(x[at*in+i])
				}
			}
			y[t*out+c] = s
		}
	}
	return y
}

func TestConv(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(2, 2))
		for _, tt := range []struct {
			out, taps, in, rows int
			o                   ConvOptions
		}{
			{16, 3, 8, 50, ConvOptions{Left: 1, Right: 1}},
			{22, 7, 16, 203, ConvOptions{Left: 3, Right: 3}},
			{70, 11, 5, 120, ConvOptions{Left: 25, Right: 25, Dilation: 5}},
			{8, 12, 22, 121, ConvOptions{Left: 3, Right: 3, Stride: 6}},
			{8, 3, 4, 33, ConvOptions{Left: 1, Right: 1, Stride: 2}},
			{1, 1, 9, 20, ConvOptions{}},
			{3, 7, 2, 2, ConvOptions{Left: 9, Right: 9, Dilation: 2}}, // rows no tap meets
			{4, 9, 2, 3, ConvOptions{}},                               // no row
			{3, 3, 700, 7, ConvOptions{Left: 1, Right: 1}},            // two slabs
			{5, 2, slab + 9, 7, ConvOptions{Left: 1}},
		} {
			w, x, bias := floats(r, tt.out*tt.taps*tt.in), floats(r, tt.rows*tt.in), floats(r, tt.out)
			tt.o.Bias = bias
			c := NewConv(w, tt.out, tt.taps, tt.in, tt.o)
			count := c.Rows(tt.rows)
			want := slowConv(w, x, bias, tt.out, tt.taps, tt.in, tt.rows, count, tt.o)
			dst := guarded(1, count*tt.out)
			c.Run(p, dst, x, tt.rows, false)
			for i, v := range want {
				within(t, fmt.Sprintf("%+v [%d]", tt, i), dst[i], v, 1e-5*math.Sqrt(float64(tt.in*tt.taps))*8)
			}
			c.Run(p, dst, x, tt.rows, true)
			for i, v := range want {
				within(t, fmt.Sprintf("%+v added [%d]", tt, i), dst[i], 2*v-float64(bias[i%tt.out]), 1e-5*math.Sqrt(float64(tt.in*tt.taps))*16)
			}
		}
	})
}

func TestConvTranspose(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(2, 3))
		for _, tt := range []struct{ out, taps, in, stride, crop, more, rows int }{
			{16, 20, 8, 10, 5, 0, 31},
			{7, 12, 5, 6, 3, 0, 200},
			{4, 3, 3, 2, 1, 1, 17},
			{2, 2, 3, 5, 0, 3, 6}, // rows no tap meets
			{2, 4, 3, 1, 2, 0, 9},
			{2, 4, 3, 1, 2, 0, 0},
		} {
			w, x, bias := floats(r, tt.out*tt.taps*tt.in), floats(r, tt.rows*tt.in), floats(r, tt.out)
			c := NewConvTranspose(w, tt.out, tt.taps, tt.in, tt.stride, tt.crop, tt.more, bias)
			count := c.Rows(tt.rows)
			want := make([]float64, count*tt.out)
			for i := range want {
				want[i] = float64(bias[i%tt.out])
			}
			for at := range tt.rows {
				for j := range tt.taps {
					row := at*tt.stride + j - tt.crop
					if row < 0 || row >= count {
						continue
					}
					for o := range tt.out {
						for i := range tt.in {
							want[row*tt.out+o] += float64(w[(o*tt.taps+j)*tt.in+i]) * float64(x[at*tt.in+i])
						}
					}
				}
			}
			dst := guarded(1, count*tt.out)
			c.Run(p, dst, x, tt.rows)
			for i, v := range want {
				within(t, fmt.Sprintf("%+v [%d]", tt, i), dst[i], v, 1e-4)
			}
		}
	})
}

// report adds GFLOP/s to a benchmark of that many floating-point operations.
func report(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct{ rows, n, k int }{{48, 64, 512}, {512, 2048, 2048}, {1500, 512, 512}, {1500, 2048, 512}, {1500, 512, 2048}, {1500, 1500, 64}, {1500, 64, 1500}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.rows, s.n, s.k), func(b *testing.B) {
			r := rand.New(rand.NewPCG(2, 4))
			p := NewPool(1)
			defer p.Close()
			w, x, dst := NewPanels(s.n, s.k), floats(r, s.rows*s.k), make([]float32, s.rows*s.n)
			w.PackRows(floats(r, s.n*s.k), s.k)
			g := NewGemm(w, nil)
			b.ReportAllocs()
			for b.Loop() {
				g.Run(p, dst, s.n, x, s.k, s.rows, false)
			}
			report(b, 2*float64(s.rows*s.n*s.k))
		})
	}
}

func BenchmarkConv(b *testing.B) {
	for _, s := range []struct{ rows, out, taps, in, dilation int }{
		{24000, 128, 3, 128, 1}, {24000, 128, 7, 128, 3}, {24000, 128, 11, 128, 5}, {4000, 256, 3, 256, 1}, {4000, 256, 7, 256, 3}, {4000, 256, 11, 256, 5},
		{200, 512, 3, 512, 1}, {200, 1024, 3, 1024, 1}, {1000, 1024, 3, 1090, 1}, {24000, 22, 7, 128, 1},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("t=%d,c=%d-%d,k=%d,d=%d,threads=%d", s.rows, s.in, s.out, s.taps, s.dilation, threads), func(b *testing.B) {
				r := rand.New(rand.NewPCG(2, 5))
				p := NewPool(threads)
				defer p.Close()
				pad := (s.taps - 1) * s.dilation / 2
				c := NewConv(floats(r, s.out*s.taps*s.in), s.out, s.taps, s.in, ConvOptions{Left: pad, Right: pad, Dilation: s.dilation})
				x, dst := floats(r, s.rows*s.in), make([]float32, s.rows*s.out)
				b.ReportAllocs()
				for b.Loop() {
					c.Run(p, dst, x, s.rows, false)
				}
				report(b, 2*float64(s.rows*s.out*s.taps*s.in))
			})
		}
	}
}

// FuzzProduct holds the tiles of the host's level against the Go version.
func FuzzProduct(f *testing.F) {
	f.Add(uint8(7), uint8(22), uint8(9), uint8(3), uint8(2), true)
	f.Add(uint8(6), uint8(64), uint8(16), uint8(1), uint8(0), false)
	f.Add(uint8(13), uint8(95), uint8(3), uint8(0), uint8(7), true)
	f.Fuzz(func(t *testing.T, rows, n, k, taps, gap uint8, init bool) {
		c := product{rows: int(rows % 32), n: int(n%100) + 1, k: int(k%70) + 1, taps: int(taps % 5)}
		if c.rows == 0 {
			return
		}
		r := rand.New(rand.NewPCG(uint64(rows)<<8|uint64(n), uint64(k)<<8|uint64(taps)))
		c.xStride, c.tapStride, c.dstStride = int(gap), c.k+int(gap%3), c.n+int(gap%5)
		c.wStride = c.taps*c.k*panelWidth + panelWidth
		c.x = floats(r, c.rows*c.xStride+c.taps*c.tapStride+c.k)
		c.w = floats(r, (c.n+panelWidth-1)/panelWidth*c.wStride)
		if init {
			c.init, c.initStride = floats(r, c.rows*c.dstStride), c.dstStride
		}
		want := c
		c.dst, want.dst = guarded(c.rows, c.dstStride), guarded(c.rows, c.dstStride)
		c.tiles()
		want.tilesGo()
		for i, v := range want.dst {
			// Sums of taps·k products of normal numbers, and what they start from.
			if math.Abs(float64(v-c.dst[i])) > 1e-5*math.Sqrt(float64(c.taps*c.k+1))*4 || v == guard && c.dst[i] != guard {
				t.Fatalf("%d×%d×%d×%d: [%d] = %g, want %g", c.rows, c.n, c.taps, c.k, i, c.dst[i], v)
			}
		}
	})
}
