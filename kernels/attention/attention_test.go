package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
)

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
		}{{quant.F32, 24, 1e-5}, {quant.F32, 64, 1e-5}, {quant.F16, 64, 1e-5}, {quant.F16, 80, 1e-5}, {quant.BF16, 64, 1e-5}, {quant.Q8_0, 64, 4e-2}, {quant.Q4_0, 64, 4e-2}} {
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
				k, v := kerneltest.Floats(r, kvHeads*tt.dim), kerneltest.Floats(r, kvHeads*tt.dim)
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
					q, dst := kerneltest.Floats(r, group*tt.dim), make([]float32, group*tt.dim)
					kv.Attend(dst, q, 1, head, table, 0, n, AttendOptions{Scale: 0.3}, s)
					for g := range group {
						var hk, hv [][]float32
						for i := range n {
							hk = append(hk, ks[i][head*tt.dim:(head+1)*tt.dim])
							hv = append(hv, vs[i][head*tt.dim:(head+1)*tt.dim])
						}
						want := slowAttend(q[g*tt.dim:(g+1)*tt.dim], hk, hv, 0.3)
						for d := range want {
							kerneltest.Within(t, dst[g*tt.dim+d], want[d], tt.bound, "%v n=%d head %d.%d [%d]", tt.typ, n, head, g, d)
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
		{"head not a block of 4 bits", quant.Q4_0, 4, 48},
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
	q, dst := kerneltest.Floats(r, group*dim), make([]float32, group*dim)
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
			k, v := kerneltest.Floats(r, dim), kerneltest.Floats(r, dim)
			kv.Put(0, table[i/size], i%size, k, v)
			ks, vs = append(ks, k), append(vs, v)
		}
		s := NewScratch(kv, group)
		for _, first := range []int{0, 1, 8, 13, n - 1} {
			for _, cap := range []float32{0, 2} {
				for _, sinks := range [][]float32{nil, {3, -1}} {
					q, dst := kerneltest.Floats(r, group*dim), make([]float32, group*dim)
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
							kerneltest.Within(t, dst[g*dim+d], want, 1e-5, "first %d cap %g sinks %v [%d]", first, cap, sinks, d)
						}
					}
				}
			}
		}
	})
}
