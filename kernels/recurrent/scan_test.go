package recurrent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
)

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= 2e-5*(1+math.Abs(w))) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], w)
		}
	}
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// TestScans holds rows of each recurrence against float64, over widths that are and are not
// whole vectors, and states that go on.
func TestScans(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 1))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64()) / 2
			}
			return x
		}
		for _, size := range [][2]int{{1, 1}, {3, 5}, {8, 16}, {5, 37}, {16, 128}, {7, 100}} {
			p, n := size[0], size[1]
			h, S := random(p*n), random(p*n)
			h64, S64 := wide(h), wide(S)
			y, o, work := make([]float32, p), make([]float32, n), make([]float32, n)
			for range 3 {
				// Mamba-2.
				x, b, c := random(p), random(n), random(n)
				const dt, a, d = 0.7, -0.4, 0.9
				SSD(y, x, b, c, h, dt, a, d)
				want := make([]float64, p)
				for i := range p {
					want[i] = d * float64(x[i])
					for j := range n {
						s := &h64[i*n+j]
						*s = math.Exp(dt*a)**s + dt*float64(x[i])*float64(b[j])
						want[i] += *s * float64(c[j])
					}
				}
				near(t, "SSD", y, want)
				// Mamba-1, from the same state.
				steps, decays, skips := random(p), random(p*n), random(p)
				Selective(y, x, steps, b, c, h, decays, skips, make([]float32, p*n+p))
				for i := range p {
					want[i] = float64(skips[i]) * float64(x[i])
					for j := range n {
						s := &h64[i*n+j]
						*s = math.Exp(float64(steps[i])*float64(decays[i*n+j]))**s + float64(steps[i])*float64(b[j])*float64(x[i])
						want[i] += *s * float64(c[j])
					}
				}
				near(t, "Selective", y, want)
				// A delta net of keys of p and values of n.
				q, k, v := random(p), random(p), random(n)
				const g, beta = -0.3, 0.6
				Delta(o, q, k, v, S, work, g, beta)
				read := make([]float64, n)
				for i := range p {
					for j := range n {
						S64[i*n+j] *= math.Exp(g)
						read[j] += float64(k[i]) * S64[i*n+j]
					}
				}
				out := make([]float64, n)
				for i := range p {
					for j := range n {
						S64[i*n+j] += float64(k[i]) * beta * (float64(v[j]) - read[j])
						out[j] += float64(q[i]) * S64[i*n+j]
					}
				}
				near(t, "Delta", o, out)
				// RWKV-7, on from the same state.
				w, key, back := random(p), random(p), random(p)
				WKV(o, q, w, k, v, key, back, S, work)
				clear(read)
				clear(out)
				for i := range p {
					for j := range n {
						read[j] += float64(key[i]) * S64[i*n+j]
					}
				}
				for i := range p {
					for j := range n {
						s := &S64[i*n+j]
						*s = *s*float64(w[i]) + float64(v[j])*float64(k[i]) + read[j]*float64(back[i])
						out[j] += *s * float64(q[i])
					}
				}
				near(t, "WKV", o, out)
			}
			near(t, "state", h, h64)
			near(t, "state", S, S64)
		}
	})
}

// TestShortConv holds a convolution against sums, whole and cut anywhere, with equal bits.
func TestShortConv(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const channels, taps, rows = 37, 4, 9
		r := rand.New(rand.NewPCG(7, 2))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			return x
		}
		w, bias, before, x := random(taps*channels), random(channels), random((taps-1)*channels), random(rows*channels)
		all := append(slices.Clone(before), x...)
		double := func(dst, x []float32) {
			for i, v := range x {
				dst[i] = 2 * v
			}
		}
		want := make([]float64, rows*channels)
		for t := range rows {
			for c := range channels {
				sum := float64(bias[c])
				for j := range taps {
					sum += float64(w[j*channels+c]) * float64(all[(t+j)*channels+c])
				}
				want[t*channels+c] = 2 * sum
			}
		}
		var first []float32
		for cut := range rows + 1 {
			dst, state := make([]float32, rows*channels), slices.Clone(before)
			for _, part := range [][2]int{{0, cut}, {cut, rows}} {
				for _, c := range [][2]int{{0, 20}, {20, channels}} {
					at := slices.Clone(state)
					ShortConv(dst[part[0]*channels:part[1]*channels], x[part[0]*channels:part[1]*channels], channels, w, bias, at, taps, c[0], c[1], double)
					for j := range taps - 1 {
						copy(state[j*channels+c[0]:j*channels+c[1]], at[j*channels+c[0]:])
					}
				}
			}
			near(t, "conv", dst, want)
			if first == nil {
				first = dst
			} else if !slices.Equal(dst, first) {
				t.Errorf("cut at %d the bits differ", cut)
			}
			if !slices.Equal(state, all[rows*channels:]) {
				t.Errorf("cut at %d the state is %v", cut, state)
			}
		}
	})
}

// BenchmarkSelective is a row of 32 channels of Mamba-1.
func BenchmarkSelective(b *testing.B) {
	const channels, n = 32, 16
	r := rand.New(rand.NewPCG(7, 9))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = -r.Float32()
		}
		return x
	}
	x, dt, in, out, state, a, d := random(channels), random(channels), random(n), random(n), random(channels*n), random(channels*n), random(channels)
	y, work := make([]float32, channels), make([]float32, channels*(n+1))
	b.ReportAllocs()
	for b.Loop() {
		Selective(y, x, dt, in, out, state, a, d, work)
	}
}
