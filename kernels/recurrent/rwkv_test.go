package recurrent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
)

// TestTokenShift holds rows mixed with the one before against float64, whole and cut
// anywhere, with equal bits.
func TestTokenShift(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const width, n, rows = 37, 3, 7
		r := rand.New(rand.NewPCG(9, 1))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			return x
		}
		mix, before, x := random(n*width), random(width), random(rows*width)
		all := append(slices.Clone(before), x...)
		want := make([]float64, rows*n*width)
		for t := range rows {
			for i := range n {
				for c := range width {
					now := float64(all[(t+1)*width+c])
					want[(t*n+i)*width+c] = now + (float64(all[t*width+c])-now)*float64(mix[i*width+c])
				}
			}
		}
		var first []float32
		for cut := range rows + 1 {
			dst, state := make([]float32, rows*n*width), slices.Clone(before)
			for _, part := range [][2]int{{0, cut}, {cut, rows}} {
				for _, c := range [][2]int{{0, 16}, {16, width}} {
					TokenShift(dst[part[0]*n*width:part[1]*n*width], x[part[0]*width:part[1]*width], width, mix, state, c[0], c[1])
				}
			}
			near(t, "shift", dst, want)
			if first == nil {
				first = dst
			} else if !slices.Equal(dst, first) {
				t.Errorf("cut at %d the bits differ", cut)
			}
			if !slices.Equal(state, x[(rows-1)*width:]) {
				t.Errorf("cut at %d the state is %v", cut, state)
			}
		}
	})
}

// TestRWKV holds rows of one head of two against float64.
func TestRWKV(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 2))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			return x
		}
		for _, n := range []int{1, 8, 19, 64} {
			m := RWKV{Key: random(2 * n), Rate: random(2 * n), Bonus: random(2 * n), Norm: random(2 * n), Shift: random(2 * n), Eps: 64e-5}
			const h = 1
			state, o, work := random(n*n), make([]float32, n), make([]float32, RWKVWork*n)
			S := wide(state)
			for range 3 {
				in := [5][]float32{random(n), random(n), random(n), random(n), random(n)}
				rs, w, k, v, a := wide(in[0]), wide(in[1]), wide(in[2]), wide(in[3]), wide(in[4])
				m.Row(o, in[0], in[1], in[2], in[3], in[4], h, state, work)
				key, length, bonus := make([]float64, n), 0.0, 0.0
				for i := range n {
					a[i] = 1 / (1 + math.Exp(-a[i]))
					key[i] = k[i] * float64(m.Key[h*n+i])
					length += key[i] * key[i]
					k[i] += k[i] * float64(m.Rate[h*n+i]) * (a[i] - 1)
					bonus += rs[i] * k[i] * float64(m.Bonus[h*n+i])
				}
				want, mean := make([]float64, n), 0.0
				for j := range n {
					old := 0.0
					for i := range n {
						old += S[i*n+j] * key[i] / math.Sqrt(length)
					}
					for i := range n {
						decay := math.Exp(-math.Exp(-0.5) / (1 + math.Exp(-w[i])))
						S[i*n+j] = S[i*n+j]*decay - old*key[i]/math.Sqrt(length)*a[i] + v[j]*k[i]
						want[j] += S[i*n+j] * rs[i]
					}
					mean += want[j] / float64(n)
				}
				variance := 0.0
				for _, x := range want {
					variance += (x - mean) * (x - mean) / float64(n)
				}
				for j, x := range want {
					want[j] = (x-mean)/math.Sqrt(variance+64e-5)*float64(m.Norm[h*n+j]) + float64(m.Shift[h*n+j]) + bonus*v[j]
				}
				near(t, "state", state, S)
				near(t, "row", o, want)
			}
		}
	})
}

// BenchmarkRWKV is a row of all heads of a model of 2048.
func BenchmarkRWKV(b *testing.B) {
	const heads, n = 32, 64
	x := make([]float32, heads*n)
	for i := range x {
		x[i] = float32(i%7) / 7
	}
	m := RWKV{Key: x, Rate: x, Bonus: x, Norm: x, Shift: x, Eps: 64e-5}
	state, o, work := make([]float32, heads*n*n), make([]float32, heads*n), make([]float32, RWKVWork*n)
	b.SetBytes(4 * heads * n * n)
	b.ReportAllocs()
	for b.Loop() {
		for h := range heads {
			at, to := h*n, (h+1)*n
			m.Row(o[at:to], x[at:to], x[at:to], x[at:to], x[at:to], x[at:to], h, state[h*n*n:(h+1)*n*n], work)
		}
	}
}
