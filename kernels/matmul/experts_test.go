package matmul

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"quern/kernels/dot"
	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// stack encodes n matrices and returns what their type keeps of them.
func stack(r *rand.Rand, t quant.Type, n, out, in int, bias bool) (Stack, []float32) {
	w := kerneltest.Floats(r, n*out*in)
	size, ok := t.Size(len(w))
	if !ok {
		panic(t)
	}
	s := Stack{Type: t, Data: make([]byte, size), Out: out, In: in}
	t.Layout().Encode(s.Data, w)
	t.Layout().Decode(w, s.Data)
	if bias {
		s.Bias = kerneltest.Floats(r, n*out)
	}
	return s, w
}

func TestExperts(t *testing.T) {
	for _, tt := range []struct {
		name           string
		gate, up, down quant.Type
		used           int
		renormalise    bool
		sparse         bool
		ungated        bool
		bound          float64 // of the result's rms
	}{
		{"F32", quant.F32, quant.F32, quant.F32, 2, true, false, false, 1e-5},
		{"F16 all used", quant.F16, quant.F16, quant.F16, 5, false, false, false, 4e-5}, // AMX rounds activations to 16 bits
		{"mixed types", quant.F32, quant.Q8_0, quant.F16, 3, false, false, false, 4e-2},
		{"Q4_K", quant.Q4_K, quant.Q4_K, quant.Q4_K, 1, true, false, false, 8e-2},
		{"SparseMixer", quant.F32, quant.F32, quant.F32, 2, false, true, false, 1e-5},
		{"no gate", quant.F32, quant.F32, quant.F32, 2, true, false, true, 1e-5},
		{"no gate, Q8_0", quant.F32, quant.Q8_0, quant.Q8_0, 3, true, false, true, 4e-2},
	} {
		const n, in, ff, out, most = 5, 256, 256, 256, 9
		r := rand.New(rand.NewPCG(3, 1))
		o := ExpertsOptions{Routing: Routing{Used: tt.used, Renormalise: tt.renormalise, SparseMixer: tt.sparse, Jitter: 0.25}, Act: vec.SiLUGate}
		var gate, up, down []float32
		if tt.ungated {
			o.Act = vec.SquaredReLU
		} else {
			o.Gate, gate = stack(r, tt.gate, n, ff, in, false)
		}
		o.Up, up = stack(r, tt.up, n, ff, in, true)
		o.Down, down = stack(r, tt.down, n, out, ff, true)
		x, router := kerneltest.Floats(r, most*in), kerneltest.Floats(r, most*n)
		copy(router, []float32{1, 2, 2, 1, 2}) // equals: the lower goes first
		for i := range x {
			x[i] /= 16
		}
		var wants [most][]float64
		for row := range wants {
			wants[row] = slowExperts(&o, gate, up, down, n, x[row*in:(row+1)*in], router[row*n:(row+1)*n])
		}
		check := func(t *testing.T, bound float64) {
			checkExperts(t, NewExperts(o, n, most), x, router, wants[:], bound)
		}
		t.Run(tt.name, func(t *testing.T) {
			isatest.Each(t, func(t *testing.T) { check(t, tt.bound) })
			isatest.Rounding(t, func(t *testing.T) { check(t, tt.bound+0x1p-6) })
		})
	}
}

// checkExperts wants a row of results of each row of x and router, within bound times the rms of
// the row.
func checkExperts(t *testing.T, e *Experts, x, router []float32, wants [][]float64, bound float64) {
	p := threads.NewPool(2)
	defer p.Close()
	most, out := len(wants), len(wants[0])
	in, n := len(x)/most, len(router)/most
	whole := make([]float32, most*out)
	e.Run(p, whole, x, router, most, nil)
	for row, want := range wants {
		var ss float64
		for _, v := range want {
			ss += v * v
		}
		rms := math.Sqrt(ss / float64(out))
		for i := range want {
			kerneltest.Within(t, whole[row*out+i], want[i], rms*bound, "row %d [%d]", row, i)
		}
	}
	// A row's bits do not depend on the others.
	for at, rows := 0, 1; at < most; at, rows = at+rows, rows+2 {
		rows = min(rows, most-at)
		dst := make([]float32, rows*out+1)
		dst[rows*out] = 7
		e.Run(p, dst[:rows*out], x[at*in:(at+rows)*in], router[at*n:(at+rows)*n], rows, nil)
		for i, v := range dst[:rows*out] {
			if v != whole[at*out+i] {
				t.Fatalf("rows %d to %d: [%d] = %g, %g with all rows", at, at+rows, i, v, whole[at*out+i])
			}
		}
		if dst[rows*out] != 7 {
			t.Fatal("wrote past the result")
		}
	}
	e.Run(p, nil, nil, nil, 0, nil)
	if a := testing.AllocsPerRun(2, func() { e.Run(p, whole[:2*out], x[:2*in], router[:2*n], 2, nil) }); a != 0 && runtime.GOOS != "js" { // there a turn of the event loop takes memory
		t.Errorf("a run allocates %v times", a)
	}
}

// TestExpertsInterleaved: experts whose rows are interleaved, as far as they are whole sixteens,
// give the bits of those in the file's order, also where other matrices lie between them.
func TestExpertsInterleaved(t *testing.T) {
	for typ := range quant.All() {
		const n, in, ff, out, most = 5, 512, 256, 37, 20
		if Interleaves(typ, ff, in) == 0 || typ.Layout().Encode == nil { // nor at a lower level
			continue
		}
		r := rand.New(rand.NewPCG(6, uint64(typ)))
		o := ExpertsOptions{Routing: Routing{Used: 2}, Act: vec.SiLUGate}
		o.Gate, _ = stack(r, typ, n, ff, in, false)
		o.Up, _ = stack(r, typ, n, ff, in, true)
		o.Down, _ = stack(r, typ, n, out, ff, true)
		// Gate and up by turns, as some files have them.
		size := len(o.Gate.Data) / n
		var both []byte
		for x := range n {
			both = append(append(both, o.Gate.Data[x*size:][:size]...), o.Up.Data[x*size:][:size]...)
		}
		o.Gate.Data, o.Gate.Step = both[:len(both)-size], 2*size
		o.Up.Data, o.Up.Step = both[size:], 2*size
		x, router := kerneltest.Floats(r, most*in), kerneltest.Floats(r, most*n)
		t.Run(typ.String(), func(t *testing.T) {
			isatest.Each(t, func(t *testing.T) {
				if Interleaves(typ, ff, in) == 0 {
					return
				}
				p := threads.NewPool(2)
				defer p.Close()
				m := o
				for _, s := range []*Stack{&m.Gate, &m.Up, &m.Down} {
					rows, row := Interleaves(typ, s.Out, s.In), s.rowBytes()
					s.Interleaved = make([]byte, n*rows*row)
					for x := range n {
						dot.Interleave(typ, s.Interleaved[x*rows*row:], s.Data[x*s.step():][:rows*row], rows, s.In)
					}
				}
				plain, mixed := NewExperts(o, n, most), NewExperts(m, n, most)
				for _, rows := range []int{1, 2, 3, most} {
					want, got := make([]float32, rows*out), make([]float32, rows*out)
					plain.Run(p, want, x[:rows*in], router[:rows*n], rows, nil)
					mixed.Run(p, got, x[:rows*in], router[:rows*n], rows, nil)
					if !slices.Equal(got, want) {
						t.Errorf("%d rows: got %v, want %v", rows, got, want)
					}
				}
			})
		})
	}
}

// slowExperts is one row in float64.
func slowExperts(o *ExpertsOptions, gate, up, down []float32, n int, x, router []float32) []float64 {
	var sum, used float64
	for _, s := range router {
		sum += math.Exp(float64(s))
	}
	in, ff, out := o.Up.In, o.Up.Out, o.Down.Out
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
				if gate != nil {
					g += float64(v) * float64(gate[(c.e*ff+i)*in+k])
				}
				u += float64(v) * float64(up[(c.e*ff+i)*in+k])
			}
			h[i] = g / (1 + math.Exp(-g)) * u
			if gate == nil {
				h[i] = max(u, 0) * max(u, 0)
			}
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
