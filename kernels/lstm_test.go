package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
)

func slowLSTM(w LSTMWeights, x []float32, rows, in, hidden int, backward bool) [][]float64 {
	h, c := make([]float64, hidden), make([]float64, hidden)
	out := make([][]float64, rows)
	for t := range rows {
		at := t
		if backward {
			at = rows - 1 - t
		}
		gate := make([]float64, 4*hidden)
		for g := range gate {
			gate[g] = float64(w.Bias[g])
			for i := range in {
				gate[g] += float64(w.In[g*in+i]) * float64(x[at*in+i])
			}
			for i := range hidden {
				gate[g] += float64(w.Rec[g*hidden+i]) * h[i]
			}
		}
		h = make([]float64, hidden)
		sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
		for k := range hidden {
			c[k] = sigmoid(gate[hidden+k])*c[k] + sigmoid(gate[k])*math.Tanh(gate[2*hidden+k])
			h[k] = sigmoid(gate[3*hidden+k]) * math.Tanh(c[k])
		}
		out[at] = h
	}
	return out
}

func TestLSTM(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(4, 1))
		small := func(n int) []float32 {
			f := floats(r, n)
			Scale(f, f, 0.2)
			return f
		}
		for _, tt := range []struct{ in, hidden, rows int }{{40, 16, 0}, {40, 16, 1}, {7, 5, 30}, {64, 32, 100}} {
			x := floats(r, tt.rows*tt.in)
			var w [2]LSTMWeights
			for i := range w {
				w[i] = LSTMWeights{In: small(4 * tt.hidden * tt.in), Rec: small(4 * tt.hidden * tt.hidden), Bias: small(4 * tt.hidden)}
			}
			for _, sides := range []int{1, 2} {
				back := &w[1]
				if sides == 1 {
					back = nil
				}
				l := NewLSTM(tt.in, tt.hidden, w[0], back)
				dst := make([]float32, tt.rows*l.Width())
				for range 2 { // the second run must not see the first one's state
					l.Run(p, dst, x, tt.rows)
				}
				for d := range sides {
					want := slowLSTM(w[d], x, tt.rows, tt.in, tt.hidden, d == 1)
					for at := range want {
						for k, v := range want[at] {
							within(t, fmt.Sprintf("%+v side %d row %d [%d]", tt, d, at, k), dst[at*l.Width()+d*tt.hidden+k], v, 1e-5)
						}
					}
				}
			}
		}
	})
}

func TestSpectrum(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(4, 2))
		for _, tt := range []struct{ size, hop, samples int }{{400, 160, 2000}, {20, 5, 101}, {20, 5, 19}, {64, 64, 640}, {7, 3, 40}} {
			window, x := floats(r, tt.size), floats(r, tt.samples)
			s := NewSpectrum(window, tt.hop)
			frames := s.Frames(tt.samples)
			dst, power := make([]float32, frames*2*s.Bins()), make([]float32, frames*s.Bins())
			s.Run(p, dst, x)
			s.Power(power, dst)
			for f := range frames {
				for k := range s.Bins() {
					var re, im, mass float64
					for i, w := range window {
						v := float64(w) * float64(x[f*tt.hop+i])
						sin, cos := math.Sincos(2 * math.Pi * float64(k) * float64(i) / float64(tt.size))
						re, im, mass = re+v*cos, im-v*sin, mass+math.Abs(v)
					}
					bound := mass * float64(tt.size) * 0x1p-24
					within(t, fmt.Sprintf("%+v frame %d bin %d re", tt, f, k), dst[f*2*s.Bins()+k], re, bound)
					within(t, fmt.Sprintf("%+v frame %d bin %d im", tt, f, k), dst[(f*2+1)*s.Bins()+k], im, bound)
					within(t, "power", power[f*s.Bins()+k], re*re+im*im, 4*bound*(math.Abs(re)+math.Abs(im)+bound))
				}
			}
		}
	})
}

func BenchmarkLSTM(b *testing.B) {
	const in, hidden, rows = 640, 256, 200
	r := rand.New(rand.NewPCG(4, 3))
	w := LSTMWeights{In: floats(r, 4*hidden*in), Rec: floats(r, 4*hidden*hidden), Bias: floats(r, 4*hidden)}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p := NewPool(threads)
			defer p.Close()
			l := NewLSTM(in, hidden, w, &w)
			x, dst := floats(r, rows*in), make([]float32, rows*l.Width())
			l.Run(p, dst, x, rows)
			b.ReportAllocs()
			for b.Loop() {
				l.Run(p, dst, x, rows)
			}
			report(b, 2*2*4*hidden*(in+hidden)*rows)
		})
	}
}

func BenchmarkSpectrum(b *testing.B) {
	const samples = 480_400
	r := rand.New(rand.NewPCG(4, 4))
	p := NewPool(1)
	defer p.Close()
	s := NewSpectrum(floats(r, 400), 160)
	x := floats(r, samples)
	dst := make([]float32, s.Frames(samples)*2*s.Bins())
	b.ReportAllocs()
	for b.Loop() {
		s.Run(p, dst, x)
	}
}
