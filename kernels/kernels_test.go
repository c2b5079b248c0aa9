package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

func floats(r *rand.Rand, n int) []float32 {
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(r.NormFloat64())
	}
	return f
}

// within fails unless |got-want| ≤ bound.
func within(t *testing.T, what string, got float32, want, bound float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= bound) {
		t.Fatalf("%s = %g, want %g ± %g", what, got, want, bound)
	}
}

func TestExp(t *testing.T) {
	worst := 0.0
	for i := range 4_000_000 {
		x := float32(i)/4_000_000*175 - 87
		want := math.Exp(float64(x))
		if want > math.MaxFloat32 {
			continue
		}
		worst = max(worst, math.Abs(float64(exp(x))-want)/want)
	}
	if worst > 2*0x1p-23 {
		t.Errorf("exp is off by %g, want at most %g", worst, 2*0x1p-23)
	}
	inf := float32(math.Inf(1))
	for _, tt := range []struct{ x, want float32 }{{-inf, 0}, {-100, 0}, {0, 1}, {100, inf}, {inf, inf}} {
		if got := exp(tt.x); got != tt.want {
			t.Errorf("exp(%g) = %g, want %g", tt.x, got, tt.want)
		}
	}
	if got := exp(float32(math.NaN())); got == got {
		t.Errorf("exp(NaN) = %g", got)
	}
}

func TestExpSum(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 7))
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 33, 200} {
			x := floats(r, n)
			for i := range x {
				x[i] *= 20
			}
			y := append([]float32(nil), x...)
			var want float64
			got := ExpSum(y, 3)
			for i := range x {
				e := math.Exp(float64(x[i] - 3))
				want += e
				within(t, fmt.Sprintf("n=%d exp(%g)", n, x[i]-3), y[i], e, e*2*0x1p-23+1e-37)
			}
			within(t, fmt.Sprintf("sum of %d", n), got, want, want*float64(n+3)*0x1p-23)
		}
		// A broken score must not be smoothed over.
		x := make([]float32, 32)
		x[5] = float32(math.NaN())
		if sum := ExpSum(x, 0); sum == sum || x[5] == x[5] {
			t.Errorf("exp(NaN) = %g, sum %g", x[5], sum)
		}
		inf := float32(math.Inf(-1))
		for i := range x {
			x[i] = inf
		}
		if sum := ExpSum(x, 0); sum > 1e-30 {
			t.Errorf("sum of exp(-Inf) = %g", sum)
		}
	})
}

func TestSiLUGate(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		g, u := floats(r, 1003), floats(r, 1003)
		copy(g, []float32{80, -80, -1000, 1000, 0})
		dst := make([]float32, len(g))
		SiLUGate(dst, g, u)
		for i := range g {
			want := float64(g[i]) / (1 + math.Exp(-float64(g[i]))) * float64(u[i])
			within(t, fmt.Sprintf("silu(%g)·%g", g[i], u[i]), dst[i], want, math.Abs(want)*8*0x1p-23+1e-33)
		}
		SiLUGate(g, g, u)
		for i := range g {
			if g[i] != dst[i] {
				t.Fatalf("in place: [%d] = %g, want %g", i, g[i], dst[i])
			}
		}
	})
}

func TestRMSNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 8, 9, 64, 2048} {
		for _, groups := range []int{0, 1, 3} {
			x, w := floats(r, n*groups), floats(r, n)
			dst := make([]float32, len(x))
			RMSNorm(dst, x, w, 1e-5)
			for i := range x {
				var ss float64
				for _, v := range x[i/n*n : i/n*n+n] {
					ss += float64(v) * float64(v)
				}
				want := float64(x[i]) / math.Sqrt(ss/float64(n)+1e-5) * float64(w[i%n])
				within(t, fmt.Sprintf("n=%d [%d]", n, i), dst[i], want, math.Abs(want)*float64(n/8+16)*0x1p-24)
			}
		}
	}
}

func TestRope(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const heads, dim, pairs = 3, 16, 6
	freqs := make([]float64, pairs)
	for i := range freqs {
		freqs[i] = math.Pow(10000, -float64(i)/pairs)
	}
	for _, interleaved := range []bool{false, true} {
		for _, pos := range []int32{0, 1, 77, 131071} {
			x := floats(r, heads*dim)
			cos, sin := make([]float32, pairs), make([]float32, pairs)
			RopeTable(cos, sin, pos, freqs, 1.5)
			dst := make([]float32, len(x))
			Rope(dst, x, dim, cos, sin, interleaved)
			for h := range heads {
				for i := range dim {
					at := h*dim + i
					if i >= 2*pairs {
						if dst[at] != x[at] {
							t.Fatalf("value %d of a head changed", i)
						}
						continue
					}
					pair, first, other := i%pairs, i < pairs, (i+pairs)%(2*pairs)
					if interleaved {
						pair, first, other = i/2, i%2 == 0, i^1
					}
					s, c := math.Sincos(float64(pos) * freqs[pair])
					a, b := float64(x[at]), float64(x[h*dim+other])
					want := 1.5 * (a*c - b*s)
					if !first {
						want = 1.5 * (b*s + a*c)
					}
					within(t, fmt.Sprintf("interleaved=%v pos=%d [%d]", interleaved, pos, i), dst[at], want, 1e-5)
				}
			}
			Rope(x, x, dim, cos, sin, interleaved)
			for i := range x {
				if x[i] != dst[i] {
					t.Fatalf("in place: [%d] = %g, want %g", i, x[i], dst[i])
				}
			}
		}
	}
}

func TestMatMul(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(1, 4))
		for _, typ := range []quant.Type{quant.F32, quant.F16, quant.Q8_0, quant.Q4_K} {
			const out, in = 77, 512
			w := floats(r, out*in)
			size, _ := typ.Size(len(w))
			data := make([]byte, size)
			typ.Layout().Encode(data, w)
			typ.Layout().Decode(w, data)
			bias := floats(r, out)
			m := NewMatMul(typ, data, out, in, bias)
			for _, batch := range []int{0, 1, 4, 5, 19} {
				x := floats(r, batch*in)
				stride := quant.ActBytes(m.With(), in)
				act := make([]byte, batch*stride)
				Quantize(act, m.With(), x, in)
				if m.With() != quant.F32 {
					m.With().Layout().Decode(x, act)
				}
				dst := make([]float32, batch*out)
				m.Run(p, dst, act, stride, batch)
				for i, got := range dst {
					want, mass := float64(bias[i%out]), 0.0
					for k := range in {
						v := float64(x[i/out*in+k]) * float64(w[i%out*in+k])
						want, mass = want+v, mass+math.Abs(v)
					}
					within(t, fmt.Sprintf("%v batch=%d [%d]", typ, batch, i), got, want, mass*in*0x1p-24+1e-6)
				}
			}
		}
	})
}

// slowAttend is softmax(scale·q·Kᵀ)·V for one head in float64.
func slowAttend(q []float32, k, v [][]float32, scale float64) []float64 {
	p := make([]float64, len(k))
	top, sum := math.Inf(-1), 0.0
	for i := range k {
		for d := range q {
			p[i] += float64(q[d]) * float64(k[i][d])
		}
		p[i] *= scale
		top = max(top, p[i])
	}
	for i := range p {
		p[i] = math.Exp(p[i] - top)
		sum += p[i]
	}
	out := make([]float64, len(q))
	for i := range v {
		for d := range out {
			out[d] += p[i] / sum * float64(v[i][d])
		}
	}
	return out
}

func TestAttend(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, tt := range []struct {
			typ   quant.Type
			dim   int
			bound float64 // float32 rounding, plus int8 queries for Q8_0
		}{{quant.F32, 24, 1e-5}, {quant.F32, 64, 1e-5}, {quant.F16, 64, 1e-5}, {quant.F16, 80, 1e-5}, {quant.Q8_0, 64, 4e-2}} {
			const layers, blocks, size, kvHeads, group = 2, 9, 8, 2, 3
			r := rand.New(rand.NewPCG(1, 5))
			kv, err := NewKV(tt.typ, layers, blocks, size, kvHeads, tt.dim)
			if err != nil {
				t.Fatal(err)
			}
			kv.Data = make([]byte, kv.Size())
			table := []int32{7, 0, 3, 8, 5}
			round := func(f []float32) []float32 { // what the cache's type keeps of f
				n, _ := tt.typ.Size(len(f))
				b, g := make([]byte, n), make([]float32, len(f))
				tt.typ.Layout().Encode(b, f)
				tt.typ.Layout().Decode(g, b)
				return g
			}
			var ks, vs [][]float32
			for i := range size * len(table) {
				k, v := floats(r, kvHeads*tt.dim), floats(r, kvHeads*tt.dim)
				kv.Put(1, table[i/size], i%size, k, v)
				ks, vs = append(ks, round(k)), append(vs, round(v))
			}
			if tt.typ == quant.F32 { // a copied block must serve as well
				kv.Copy(2, 3)
				table[2] = 2
			}
			s := NewScratch(kv, group)
			for _, n := range []int{1, 7, 8, 9, 40} {
				for head := range kvHeads {
					q, dst := floats(r, group*tt.dim), make([]float32, group*tt.dim)
					kv.Attend(dst, q, 1, head, table, 0, n, AttendOptions{Scale: 0.3}, s)
					for g := range group {
						var hk, hv [][]float32
						for i := range n {
							hk = append(hk, ks[i][head*tt.dim:(head+1)*tt.dim])
							hv = append(hv, vs[i][head*tt.dim:(head+1)*tt.dim])
						}
						want := slowAttend(q[g*tt.dim:(g+1)*tt.dim], hk, hv, 0.3)
						for d := range want {
							within(t, fmt.Sprintf("%v n=%d head %d.%d [%d]", tt.typ, n, head, g, d), dst[g*tt.dim+d], want[d], tt.bound)
						}
					}
				}
			}
		}
	})
}

func TestNewKVRefuses(t *testing.T) {
	for _, tt := range []struct {
		name        string
		typ         quant.Type
		blocks, dim int
	}{
		{"type", quant.Q4_K, 4, 256},
		{"head not a block", quant.Q8_0, 4, 48},
		{"no blocks", quant.F16, 0, 64},
		{"overflow", quant.F32, math.MaxInt / 64, 64},
	} {
		if _, err := NewKV(tt.typ, 2, tt.blocks, 16, 2, tt.dim); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
}

func BenchmarkAttend(b *testing.B) {
	const blocks, size, kvHeads, group, dim = 64, 32, 4, 8, 64
	kv, err := NewKV(quant.F16, 1, blocks, size, kvHeads, dim)
	if err != nil {
		b.Fatal(err)
	}
	kv.Data = make([]byte, kv.Size())
	r := rand.New(rand.NewPCG(1, 6))
	q, dst := floats(r, group*dim), make([]float32, group*dim)
	table := make([]int32, blocks)
	for i := range table {
		table[i] = int32(i)
	}
	s := NewScratch(kv, group)
	b.SetBytes(int64(2 * blocks * size * dim * 2))
	b.ReportAllocs()
	for b.Loop() {
		kv.Attend(dst, q, 0, 0, table, 0, blocks*size, AttendOptions{Scale: 0.125}, s)
	}
}
