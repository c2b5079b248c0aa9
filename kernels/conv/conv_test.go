package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
)

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
		p := threads.NewPool(2)
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
			{5, 2, 1024 + 9, 7, ConvOptions{Left: 1}},
		} {
			w, x, bias := kerneltest.Floats(r, tt.out*tt.taps*tt.in), kerneltest.Floats(r, tt.rows*tt.in), kerneltest.Floats(r, tt.out)
			tt.o.Bias = bias
			c := NewConv(w, tt.out, tt.taps, tt.in, tt.o)
			count := c.Rows(tt.rows)
			want := slowConv(w, x, bias, tt.out, tt.taps, tt.in, tt.rows, count, tt.o)
			dst := kerneltest.Guarded(1, count*tt.out)
			c.Run(p, dst, x, tt.rows, false)
			for i, v := range want {
				kerneltest.Within(t, dst[i], v, 1e-5*math.Sqrt(float64(tt.in*tt.taps))*8, "%+v [%d]", tt, i)
			}
			c.Run(p, dst, x, tt.rows, true)
			for i, v := range want {
				kerneltest.Within(t, dst[i], 2*v, 1e-5*math.Sqrt(float64(tt.in*tt.taps))*16, "%+v added [%d]", tt, i)
			}
		}
	})
}

func TestConvTranspose(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := threads.NewPool(2)
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
			w, x, bias := kerneltest.Floats(r, tt.out*tt.taps*tt.in), kerneltest.Floats(r, tt.rows*tt.in), kerneltest.Floats(r, tt.out)
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
			dst := kerneltest.Guarded(1, count*tt.out)
			c.Run(p, dst, x, tt.rows)
			for i, v := range want {
				kerneltest.Within(t, dst[i], v, 1e-4, "%+v [%d]", tt, i)
			}
		}
	})
}

func BenchmarkConv(b *testing.B) {
	for _, s := range []struct{ rows, out, taps, in, dilation int }{
		{24000, 128, 3, 128, 1}, {24000, 128, 7, 128, 3}, {24000, 128, 11, 128, 5}, {4000, 256, 3, 256, 1}, {4000, 256, 7, 256, 3}, {4000, 256, 11, 256, 5},
		{200, 512, 3, 512, 1}, {200, 1024, 3, 1024, 1}, {1000, 1024, 3, 1090, 1}, {24000, 22, 7, 128, 1},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("t=%d,c=%d-%d,k=%d,d=%d,threads=%d", s.rows, s.in, s.out, s.taps, s.dilation, workers), func(b *testing.B) {
				r := rand.New(rand.NewPCG(2, 5))
				p := threads.NewPool(workers)
				defer p.Close()
				pad := (s.taps - 1) * s.dilation / 2
				c := NewConv(kerneltest.Floats(r, s.out*s.taps*s.in), s.out, s.taps, s.in, ConvOptions{Left: pad, Right: pad, Dilation: s.dilation})
				x, dst := kerneltest.Floats(r, s.rows*s.in), make([]float32, s.rows*s.out)
				b.ReportAllocs()
				for b.Loop() {
					c.Run(p, dst, x, s.rows, false)
				}
				kerneltest.Report(b, 2*float64(s.rows*s.out*s.taps*s.in))
			})
		}
	}
}
