package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
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
					dst[n] = guard
					for i := range x {
						x[i] = float32(tt.lo + (tt.hi-tt.lo)*float64(i)/float64(max(1, n-1)))
					}
					tt.f(dst[:n], x)
					for i, v := range x {
						want := tt.want(float64(v))
						within(t, fmt.Sprintf("n=%d f(%g)", n, v), dst[i], want, tt.abs+tt.rel*math.Abs(want))
					}
					if dst[n] != guard {
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

func TestGateWithUp(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 1))
		const n = mostPoints + 67
		for name, f := range map[string]func(dst, x, up []float32){"gelu": GELU, "gelu tanh": GELUTanh} {
			x, up := floats(r, n), floats(r, n)
			alone, dst := make([]float32, n), make([]float32, n)
			f(alone, x, nil)
			f(dst, x, up)
			for i, v := range alone {
				if want := v * up[i]; dst[i] != want {
					t.Errorf("%s: [%d] = %g, want %g", name, i, dst[i], want)
				}
			}
			f(up, x, up)
			for i, v := range up {
				if v != dst[i] {
					t.Errorf("%s in place of up: [%d] = %g, want %g", name, i, v, dst[i])
				}
			}
		}
	})
}

func TestLayerNormLevels(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 2))
		for _, n := range []int{1, 7, 16, 33, 512, 1000} {
			x, w, bias := floats(r, 3*n), floats(r, n), floats(r, n)
			for i := range x {
				x[i] += 5
			}
			dst := make([]float32, 3*n)
			for _, b := range [][]float32{nil, bias} {
				LayerNorm(dst, x, w, b, 1e-5)
				for row := range 3 {
					var mean, ss float64
					for _, v := range x[row*n : row*n+n] {
						mean += float64(v) / float64(n)
					}
					for _, v := range x[row*n : row*n+n] {
						ss += (float64(v) - mean) * (float64(v) - mean) / float64(n)
					}
					for i := range n {
						want := (float64(x[row*n+i]) - mean) / math.Sqrt(ss+1e-5) * float64(w[i])
						if b != nil {
							want += float64(b[i])
						}
						if n == 1 {
							continue // nothing is left but rounding, times 1/√eps
						}
						within(t, fmt.Sprintf("n=%d row %d [%d]", n, row, i), dst[row*n+i], want, 2e-5)
					}
				}
			}
		}
	})
}

func TestChannelNorm(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 3))
		for _, n := range []int{1, 8, 22, 70} {
			for _, rows := range []int{0, 1, 2, 256, 257, 600} {
				x, gain, bias, alpha := floats(r, rows*n), floats(r, n), floats(r, n), floats(r, n)
				for i := range x {
					x[i] = x[i]*3 + float32(i%n)
				}
				alpha[0] = 0
				c := NewChannelNorm(n)
				for _, act := range []ChannelAct{{Slope: 1}, {Slope: 0.2}, {Alpha: alpha}} {
					var first []float32
					for _, workers := range []int{1, 2} {
						p := NewPool(workers)
						dst := make([]float32, rows*n)
						c.Run(p, dst, x, rows, gain, bias, 1e-5, act)
						p.Close()
						if first == nil {
							first = dst
						}
						for i := range dst {
							if dst[i] != first[i] {
								t.Fatalf("%d×%d: [%d] = %g with two workers, %g with one", rows, n, i, dst[i], first[i])
							}
						}
					}
					for ch := range n {
						var mean, ss float64
						for i := ch; i < len(x); i += n {
							mean += float64(x[i]) / float64(rows)
						}
						for i := ch; i < len(x); i += n {
							ss += (float64(x[i]) - mean) * (float64(x[i]) - mean) / float64(rows)
						}
						for i := ch; i < len(x); i += n {
							v := float64(gain[ch])*(float64(x[i])-mean)/math.Sqrt(ss+1e-5) + float64(bias[ch])
							switch a := float64(alpha[ch]); {
							case act.Alpha == nil:
								v = max(v, 0) + float64(act.Slope)*min(v, 0)
							case a != 0:
								v += math.Sin(a*v) * math.Sin(a*v) / a
							}
							// The mean is taken off and what is left is spread
							// to one; snake's slope is at most two.
							bound := 1e-6*(math.Abs(mean)+10)*math.Abs(float64(gain[ch]))/math.Sqrt(ss+1e-5) + 2e-6
							if math.Abs(float64(first[i])-v) > 2*bound {
								t.Fatalf("%d×%d %+v channel %d = %g, want %g ± %g", rows, n, act, ch, first[i], v, 2*bound)
							}
						}
					}
				}
			}
		}
	})
}

func TestChannelActivate(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		p := NewPool(2)
		defer p.Close()
		const rows, n = 300, 19
		x := floats(r, rows*n)
		c := NewChannelNorm(n)
		dst := make([]float32, len(x))
		c.Activate(p, dst, x, rows, ChannelAct{Slope: 0.1})
		for i, v := range x {
			if want := max(v, 0) + 0.1*min(v, 0); dst[i] != want {
				t.Fatalf("leaky(%g) = %g, want %g", v, dst[i], want)
			}
		}
	})
}

func BenchmarkChannelNorm(b *testing.B) {
	const rows, n = 24000, 128
	r := rand.New(rand.NewPCG(3, 5))
	x, gain, bias, alpha := floats(r, rows*n), floats(r, n), floats(r, n), floats(r, n)
	dst := make([]float32, len(x))
	for name, act := range map[string]ChannelAct{"leaky": {Slope: 0.2}, "snake": {Alpha: alpha}} {
		b.Run(name, func(b *testing.B) {
			p := NewPool(1)
			defer p.Close()
			c := NewChannelNorm(n)
			c.Run(p, dst, x, rows, gain, bias, 1e-5, act)
			b.SetBytes(int64(16 * len(x))) // measured twice, read once, written once
			b.ReportAllocs()
			for b.Loop() {
				c.Run(p, dst, x, rows, gain, bias, 1e-5, act)
			}
		})
	}
}

func BenchmarkFunctions(b *testing.B) {
	const n = 4096
	r := rand.New(rand.NewPCG(3, 6))
	x, dst := floats(r, n), make([]float32, n)
	for _, tt := range []struct {
		name string
		f    func(dst, x []float32)
	}{
		{"sin", Sin}, {"tanh", Tanh}, {"sigmoid", Sigmoid},
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
