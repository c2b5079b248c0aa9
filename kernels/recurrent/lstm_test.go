package recurrent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
	"quern/kernels/vec"
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
		p := threads.NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(4, 1))
		small := func(n int) []float32 {
			f := kerneltest.Floats(r, n)
			vec.Scale(f, f, 0.2)
			return f
		}
		for _, tt := range []struct{ in, hidden, rows int }{{40, 16, 0}, {40, 16, 1}, {7, 5, 30}, {64, 32, 100}} {
			x := kerneltest.Floats(r, tt.rows*tt.in)
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
							kerneltest.Within(t, dst[at*l.Width()+d*tt.hidden+k], v, 1e-5, "%+v side %d row %d [%d]", tt, d, at, k)
						}
					}
				}
			}
		}
	})
}

func TestCell(t *testing.T) {
	sigmoid := func(v float32) float64 { return 1 / (1 + math.Exp(-float64(v))) }
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 2))
		for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 40, 128} {
			c, i, f, g, o := kerneltest.Floats(r, n), kerneltest.Floats(r, n), kerneltest.Floats(r, n), kerneltest.Floats(r, n), kerneltest.Floats(r, n)
			if n > 7 {
				i[0], f[1], g[2], o[3], c[4] = 200, -200, -200, 200, 50
			}
			state, h := make([]float64, n), make([]float64, n)
			for k := range n {
				state[k] = sigmoid(f[k])*float64(c[k]) + sigmoid(i[k])*math.Tanh(float64(g[k]))
				h[k] = sigmoid(o[k]) * math.Tanh(state[k])
			}
			got := kerneltest.Guarded(1, n+1)
			Cell(got[:n], c, i, f, g, o)
			for k := range n {
				kerneltest.Within(t, c[k], state[k], 2e-6*(1+math.Abs(state[k])), "%d: state %d", n, k)
				kerneltest.Within(t, got[k], h[k], 2e-6, "%d: output %d", n, k)
			}
			if got[n] != kerneltest.Guard {
				t.Errorf("%d: wrote past the end", n)
			}
		}
	})
}

func BenchmarkLSTM(b *testing.B) {
	const in, hidden, rows = 640, 256, 200
	r := rand.New(rand.NewPCG(4, 3))
	w := LSTMWeights{In: kerneltest.Floats(r, 4*hidden*in), Rec: kerneltest.Floats(r, 4*hidden*hidden), Bias: kerneltest.Floats(r, 4*hidden)}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", workers), func(b *testing.B) {
			p := threads.NewPool(workers)
			defer p.Close()
			l := NewLSTM(in, hidden, w, &w)
			x, dst := kerneltest.Floats(r, rows*in), make([]float32, rows*l.Width())
			l.Run(p, dst, x, rows)
			b.ReportAllocs()
			for b.Loop() {
				l.Run(p, dst, x, rows)
			}
			kerneltest.Report(b, 2*2*4*hidden*(in+hidden)*rows)
		})
	}
}
