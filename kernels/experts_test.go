package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

// stack encodes n matrices and returns what their type keeps of them.
func stack(r *rand.Rand, t quant.Type, n, out, in int, bias bool) (Stack, []float32) {
	w := floats(r, n*out*in)
	size, ok := t.Size(len(w))
	if !ok {
		panic(t)
	}
	s := Stack{Type: t, Data: make([]byte, size), Out: out, In: in}
	t.Layout().Encode(s.Data, w)
	t.Layout().Decode(w, s.Data)
	if bias {
		s.Bias = floats(r, n*out)
	}
	return s, w
}

func TestExperts(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		for _, tt := range []struct {
			name           string
			gate, up, down quant.Type
			used           int
			renormalise    bool
			sparse         bool
			bound          float64 // of the result's rms
		}{
			{"F32", quant.F32, quant.F32, quant.F32, 2, true, false, 1e-5},
			{"F16 all used", quant.F16, quant.F16, quant.F16, 5, false, false, 4e-5}, // AMX rounds activations to 16 bits
			{"mixed types", quant.F32, quant.Q8_0, quant.F16, 3, false, false, 4e-2},
			{"Q4_K", quant.Q4_K, quant.Q4_K, quant.Q4_K, 1, true, false, 8e-2},
			{"SparseMixer", quant.F32, quant.F32, quant.F32, 2, false, true, 1e-5},
		} {
			const n, in, ff, out, most = 5, 256, 256, 256, 9
			r := rand.New(rand.NewPCG(3, 1))
			o := ExpertsOptions{Used: tt.used, Renormalise: tt.renormalise, SparseMixer: tt.sparse, Jitter: 0.25, Act: SiLUGate}
			var gate, up, down []float32
			o.Gate, gate = stack(r, tt.gate, n, ff, in, false)
			o.Up, up = stack(r, tt.up, n, ff, in, true)
			o.Down, down = stack(r, tt.down, n, out, ff, true)
			e := NewExperts(o, n, most)
			x, router := floats(r, most*in), floats(r, most*n)
			copy(router, []float32{1, 2, 2, 1, 2}) // equals: the lower goes first
			for i := range x {
				x[i] /= 16
			}
			whole := make([]float32, most*out)
			e.Run(p, whole, x, router, most)
			for row := range most {
				want := slowExperts(&o, gate, up, down, n, x[row*in:(row+1)*in], router[row*n:(row+1)*n])
				var ss float64
				for _, v := range want {
					ss += v * v
				}
				rms := math.Sqrt(ss / out)
				for i := range want {
					within(t, fmt.Sprintf("%s row %d [%d]", tt.name, row, i), whole[row*out+i], want[i], rms*tt.bound)
				}
			}
			// A row's bits do not depend on the others.
			for at, rows := 0, 1; at < most; at, rows = at+rows, rows+2 {
				rows = min(rows, most-at)
				dst := make([]float32, rows*out+1)
				dst[rows*out] = 7
				e.Run(p, dst[:rows*out], x[at*in:(at+rows)*in], router[at*n:(at+rows)*n], rows)
				for i, v := range dst[:rows*out] {
					if v != whole[at*out+i] {
						t.Fatalf("%s rows %d to %d: [%d] = %g, %g with all rows", tt.name, at, at+rows, i, v, whole[at*out+i])
					}
				}
				if dst[rows*out] != 7 {
					t.Fatal("wrote past the result")
				}
			}
			e.Run(p, nil, nil, nil, 0)
			if a := testing.AllocsPerRun(2, func() { e.Run(p, whole[:2*out], x[:2*in], router[:2*n], 2) }); a != 0 {
				t.Errorf("%s: a run allocates %v times", tt.name, a)
			}
		}
	})
}

// slowExperts is one row in float64.
func slowExperts(o *ExpertsOptions, gate, up, down []float32, n int, x, router []float32) []float64 {
	var sum, used float64
	for _, s := range router {
		sum += math.Exp(float64(s))
	}
	in, ff, out := o.Gate.In, o.Gate.Out, o.Down.Out
	y := make([]float64, out)
	left := append([]float32(nil), router...)
	type part struct {
		e int
		p float64
	}
	var parts []part
	for range o.Used {
		best := 0
		for e := range left {
			if left[e] > left[best] {
				best = e
			}
		}
		p := math.Exp(float64(router[best])) / sum
		if o.SparseMixer {
			near := 0.0
			for e, s := range router {
				d := float64(left[best]-s) / math.Max(math.Abs(float64(s)), float64(left[best]))
				if left[e] == s && d <= 2*float64(o.Jitter) {
					near += math.Exp(float64(s - left[best]))
				}
			}
			p = 1 / near
		}
		left[best] = float32(math.Inf(-1))
		used += p
		parts = append(parts, part{best, p})
	}
	for _, c := range parts {
		if o.Renormalise {
			c.p /= used
		}
		h := make([]float64, ff)
		for i := range h {
			g, u := 0.0, float64(o.Up.Bias[c.e*ff+i])
			for k, v := range x {
				g += float64(v) * float64(gate[(c.e*ff+i)*in+k])
				u += float64(v) * float64(up[(c.e*ff+i)*in+k])
			}
			h[i] = g / (1 + math.Exp(-g)) * u
		}
		for i := range y {
			v := float64(o.Down.Bias[c.e*out+i])
			for k := range h {
				v += h[k] * float64(down[(c.e*out+i)*ff+k])
			}
			y[i] += c.p * v
		}
	}
	return y
}

func TestActivations(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gelu := func(x, u float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 * u }
	tanh := func(x, u float64) float64 {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) * u
	}
	clamped := func(g, u float64) float64 {
		g, u = min(g, 7), max(-7, min(u, 7))
		return g * sigmoid(1.702*g) * (u + 1)
	}
	isatest.Each(t, func(t *testing.T) {
		for _, tt := range []struct {
			name  string
			f     func(dst, x, up []float32)
			want  func(x, u float64) float64
			alone bool
		}{{"GELU", GELU, gelu, true}, {"GELUTanh", GELUTanh, tanh, true}, {"SwiGLUClamped", SwiGLUClamped, clamped, false}} {
			for _, n := range []int{0, 1, 7, 16, 17, span - 1, span, span + 1, 1000} {
				r := rand.New(rand.NewPCG(3, 2))
				x, up := floats(r, n), floats(r, n)
				copy(x, []float32{0, 30, -30, 1000, -1000, -3, 5})
				copy(up[n/2:], []float32{9, -9})
				for _, u := range [][]float32{up, nil} {
					if u == nil && !tt.alone {
						continue
					}
					dst := append(make([]float32, n), 7)
					tt.f(dst[:n], x, u)
					for i := range x {
						f := 1.0
						if u != nil {
							f = float64(u[i])
						}
						want := tt.want(float64(x[i]), f)
						within(t, fmt.Sprintf("%s n=%d (%g, %g)", tt.name, n, x[i], f), dst[i], want, 1e-6*(math.Abs(want)+math.Abs(f)*min(math.Abs(float64(x[i])), 8)+1e-3))
					}
					if dst[n] != 7 {
						t.Fatalf("%s wrote past the result", tt.name)
					}
				}
				want := make([]float32, n)
				tt.f(want, x, up)
				tt.f(x, x, up)
				for i := range x {
					if x[i] != want[i] {
						t.Fatalf("%s in place: [%d] = %g, want %g", tt.name, i, x[i], want[i])
					}
				}
			}
		}
	})
}

func TestSoftCap(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 16, 17, span + 1, 999} {
			x := floats(rand.New(rand.NewPCG(3, 3)), n)
			for i := range x {
				x[i] *= 40
			}
			copy(x, []float32{0, 1e-3, 1e6, -1e6})
			dst := append(make([]float32, n), 7)
			SoftCap(dst[:n], x, 30)
			for i := range x {
				within(t, fmt.Sprintf("cap(%g)", x[i]), dst[i], 30*math.Tanh(float64(x[i])/30), 30*4*0x1p-23)
			}
			if dst[n] != 7 {
				t.Fatal("wrote past the result")
			}
		}
	})
}

func TestLayerNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 7, 8, 9, 768} {
		for _, rows := range []int{0, 1, 3} {
			for _, biased := range []bool{true, false} {
				x, w, bias := floats(r, n*rows), floats(r, n), floats(r, n)
				for i := range x {
					x[i] += 50 // a mean far from 0
				}
				if !biased {
					bias = nil
				}
				dst := make([]float32, len(x))
				LayerNorm(dst, x, w, bias, 1e-5)
				for i := range x {
					var mean, ss float64
					row := x[i/n*n : i/n*n+n]
					for _, v := range row {
						mean += float64(v) / float64(n)
					}
					for _, v := range row {
						ss += (float64(v) - mean) * (float64(v) - mean)
					}
					want := (float64(x[i]) - mean) / math.Sqrt(ss/float64(n)+1e-5) * float64(w[i%n])
					if biased {
						want += float64(bias[i%n])
					}
					within(t, fmt.Sprintf("n=%d [%d]", n, i), dst[i], want, 2e-5*(1+math.Abs(want)))
				}
				LayerNorm(x, x, w, bias, 1e-5)
				for i := range x {
					if x[i] != dst[i] {
						t.Fatalf("in place: [%d] = %g, want %g", i, x[i], dst[i])
					}
				}
			}
		}
	}
}

func TestPointwise(t *testing.T) {
	x := []float32{1, 2, 3, -4, 5, 6}
	dst := make([]float32, 6)
	for _, tt := range []struct {
		name string
		f    func()
		want []float32
	}{
		{"bias", func() { Bias(dst, x, []float32{10, 20, 30}) }, []float32{11, 22, 33, 6, 25, 36}},
		{"scale", func() { Scale(dst, x, -2) }, []float32{-2, -4, -6, 8, -10, -12}},
		{"weigh", func() { Weigh(dst, x, []float32{0, 200}) }, []float32{0.5, 1, 1.5, -4, 5, 6}},
	} {
		tt.f()
		for i := range tt.want {
			if dst[i] != tt.want[i] {
				t.Errorf("%s = %v, want %v", tt.name, dst, tt.want)
				break
			}
		}
	}
}

// Windows, soft caps and sinks against float64.
func TestAttendOptions(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const blocks, size, group, dim, n = 6, 8, 2, 32, 37
		r := rand.New(rand.NewPCG(3, 5))
		kv, err := NewKV(quant.F32, 1, blocks, size, 1, dim)
		if err != nil {
			t.Fatal(err)
		}
		kv.Data = make([]byte, kv.Size())
		table := []int32{4, 0, 5, 2, 1}
		var ks, vs [][]float32
		for i := range n {
			k, v := floats(r, dim), floats(r, dim)
			kv.Put(0, table[i/size], i%size, k, v)
			ks, vs = append(ks, k), append(vs, v)
		}
		s := NewScratch(kv, group)
		for _, first := range []int{0, 1, 8, 13, n - 1} {
			for _, cap := range []float32{0, 2} {
				for _, sinks := range [][]float32{nil, {3, -1}} {
					q, dst := floats(r, group*dim), make([]float32, group*dim)
					kv.Attend(dst, q, 0, 0, table, first, n, AttendOptions{Scale: 0.3, SoftCap: cap, Sinks: sinks}, s)
					for g := range group {
						var p []float64
						sum := 0.0
						if sinks != nil {
							sum = math.Exp(float64(sinks[g]))
						}
						for i := first; i < n; i++ {
							x := 0.0
							for d := range dim {
								x += float64(q[g*dim+d]) * float64(ks[i][d])
							}
							x *= 0.3
							if cap > 0 {
								x = float64(cap) * math.Tanh(x/float64(cap))
							}
							p = append(p, math.Exp(x))
							sum += math.Exp(x)
						}
						for d := range dim {
							want := 0.0
							for i := range p {
								want += p[i] / sum * float64(vs[first+i][d])
							}
							within(t, fmt.Sprintf("first %d cap %g sinks %v [%d]", first, cap, sinks, d), dst[g*dim+d], want, 1e-5)
						}
					}
				}
			}
		}
	})
}
