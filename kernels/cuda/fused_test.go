package cuda_test

import (
	"fmt"
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/quant"
)

// acts prepares activations as gemv takes them, normed before by other kernels.
func (g *gpu) acts(typ quant.Type, x, norm uint64, rows, in int, eps float32) uint64 {
	if norm != none {
		y := g.Alloc(4 * rows * in)
		g.run("rmsnorm", cuda.Dims{Rows: rows}, y, x, norm, in, 1, eps)
		x = y
	}
	if cuda.Quantised(typ) {
		q := g.Alloc(rows * quant.ActBytes(quant.ActQ8_32, in))
		g.run("quantize", cuda.Dims{Rows: rows, In: in}, q, x, in)
		x = q
	}
	return x
}

// Fused kernels give the bits that the ones they stand for give one after the
// other, with any number of blocks, and leave alone what is not theirs.
func TestFused(t *testing.T) {
	const eps = float32(1e-5)
	for _, tt := range []struct {
		types [3]quant.Type
		in    int
		outs  [3]int
	}{
		{[3]quant.Type{quant.Q4_K, quant.Q6_K, quant.Q5_K}, 2304, [3]int{19, 8, 3}},
		{[3]quant.Type{quant.Q4_0, quant.Q8_0, quant.Q4_0}, 288, [3]int{9, 0, 0}},
		{[3]quant.Type{quant.Q8_0, quant.Q8_0, quant.Q4_0}, 2080, [3]int{5, 7, 0}},
		{[3]quant.Type{quant.F16, quant.BF16, quant.F32}, 264, [3]int{5, 9, 17}},
		{[3]quant.Type{quant.F32, quant.F16, quant.F32}, 301, [3]int{8, 1, 0}},
	} {
		for _, rows := range []int{1, 2, 3, 8} {
			for _, normed := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v of %d by %d, norm %v", tt.types, tt.in, rows, normed), func(t *testing.T) {
					g := newGPU(t)
					first := tt.types[0]
					x, norm := g.floats(random(1, rows*tt.in)), none
					if normed {
						norm = g.floats(random(2, tt.in))
					}
					acts := g.acts(first, x, norm, rows, tt.in, eps)
					d := cuda.Dims{Rows: rows, Blocks: 1 + rows%3}
					residual := g.floats(random(3, rows*tt.outs[0]))
					var args []any
					var got, want [3]uint64
					var w, bias [3]uint64
					for i, typ := range tt.types {
						n := tt.outs[i]
						if n == 0 {
							args = append(args, none, none, none, 0, 0)
							continue
						}
						w[i], bias[i] = g.bytes(encode(typ, random(uint64(4+i), n*tt.in))), g.floats(random(uint64(7+i), n))
						got[i], want[i] = g.Alloc(4*rows*n), g.Alloc(4*rows*n)
						plus := none
						if i == 0 {
							plus = residual
						}
						g.run(cuda.GEMVName(typ, rows), cuda.Dims{Rows: rows, Out: n}, want[i], w[i], acts, bias[i], plus, n, tt.in, rows)
						args = append(args, got[i], w[i], bias[i], n, cuda.TypeNumber(typ))
					}
					held := cuda.Held(first, rows, tt.in)
					g.runWith(held, cuda.FusedName("project", first, rows), d, append(args, x, norm, residual, tt.in, rows, eps)...)
					for i, n := range tt.outs {
						if n > 0 {
							same(t, fmt.Sprintf("project, matrix %d", i), g.got(got[i], rows*n), g.got(want[i], rows*n))
						}
					}

					// gate by the first matrix, up by a second one of its shape.
					n, typ := tt.outs[0], tt.types[1]
					up, upBias := g.bytes(encode(typ, random(11, n*tt.in))), g.floats(random(12, n))
					for _, alone := range []bool{false, true} {
						a, b, y, expect := g.Alloc(4*rows*n), g.Alloc(4*rows*n), g.Alloc(4*rows*n), g.Alloc(4*rows*n)
						g.run(cuda.GEMVName(first, rows), cuda.Dims{Rows: rows, Out: n}, a, w[0], acts, bias[0], none, n, tt.in, rows)
						g.run(cuda.GEMVName(typ, rows), cuda.Dims{Rows: rows, Out: n}, b, up, acts, upBias, none, n, tt.in, rows)
						act, second, secondBias := 3, up, upBias
						if alone {
							act, b, second, secondBias = 1, none, none, none
						}
						g.run("gate", cuda.Dims{Rows: rows, Out: n}, expect, a, b, rows*n, act)
						g.runWith(held, cuda.FusedName("gated", first, rows), d, y, w[0], bias[0], cuda.TypeNumber(first), second, secondBias, cuda.TypeNumber(typ),
							x, norm, act, n, tt.in, rows, eps)
						same(t, fmt.Sprintf("gated, alone %v", alone), g.got(y, rows*n), g.got(expect, rows*n))
					}
				})
			}
		}
	}
}

// Heads come out as from rmsnorm, rope and kv_put.
func TestHeads(t *testing.T) {
	const rows, heads, kvHeads, blockSize, blocks, eps = 3, 3, 2, 4, 2, float32(1e-6)
	for _, typ := range cuda.CacheTypes {
		for _, tt := range []struct {
			headDim, pairs    int
			interleaved       int
			norms, rope, noQs bool
		}{
			{headDim: 64, pairs: 32, rope: true},
			{headDim: 96, pairs: 20, interleaved: 1, norms: true, rope: true},
			{headDim: 256, pairs: 128, norms: true, rope: true},
			{headDim: 32, norms: true},
			{headDim: 32, noQs: true},
		} {
			t.Run(fmt.Sprintf("%v %+v", typ, tt), func(t *testing.T) {
				g := newGPU(t)
				n, kv := heads*tt.headDim, kvHeads*tt.headDim
				q, k, v := g.floats(random(1, rows*n)), g.floats(random(2, rows*kv)), g.floats(random(3, rows*kv))
				at, slots := g.ints(4, 0, 2), g.ints(5, -1, 2)
				cos, sin, qNorm, kNorm := none, none, none, none
				if tt.rope {
					cos, sin = g.floats(random(4, 5*tt.pairs)), g.floats(random(5, 5*tt.pairs))
				}
				if tt.norms {
					qNorm, kNorm = g.floats(random(6, tt.headDim)), g.floats(random(7, tt.headDim))
				}
				size, _ := typ.Size(2 * blocks * kv * blockSize)
				got, want := g.bytes(make([]byte, size)), g.bytes(make([]byte, size))
				y := g.Alloc(4 * rows * n)
				queries := heads
				if tt.noQs {
					queries = 0
				}
				g.run(cuda.Name("heads", typ), cuda.Dims{Heads: queries + 2*kvHeads, Rows: rows}, y, got, q, k, v, qNorm, kNorm, cos, sin, at, slots,
					queries, kvHeads, tt.headDim, blockSize, tt.pairs, tt.interleaved, eps, eps)
				if tt.norms {
					g.run("rmsnorm", cuda.Dims{Rows: rows * heads}, q, q, qNorm, tt.headDim, 1, eps)
					g.run("rmsnorm", cuda.Dims{Rows: rows * kvHeads}, k, k, kNorm, tt.headDim, 1, eps)
				}
				if tt.rope {
					g.run("rope", cuda.Dims{Heads: heads, Rows: rows}, q, q, cos, sin, at, heads, tt.headDim, tt.pairs, tt.interleaved)
					g.run("rope", cuda.Dims{Heads: kvHeads, Rows: rows}, k, k, cos, sin, at, kvHeads, tt.headDim, tt.pairs, tt.interleaved)
				}
				g.run(cuda.Name("kv_put", typ), cuda.Dims{Rows: rows, Out: kv}, want, k, v, slots, kvHeads, tt.headDim, blockSize)
				if !tt.noQs {
					same(t, "queries", g.got(y, rows*n), g.got(q, rows*n))
				}
				g.sameCache(got, want, size)
			})
		}
	}
}

// sameCache holds that size bytes at got are those at want, which kv_put left.
func (g *gpu) sameCache(got, want uint64, size int) {
	g.Helper()
	a, b := make([]byte, size), make([]byte, size)
	if err := g.Read(got, a); err != nil {
		g.Fatal(err)
	}
	if err := g.Read(want, b); err != nil {
		g.Fatal(err)
	}
	if string(a) != string(b) {
		g.Errorf("the cache is not what kv_put leaves")
	}
}

// Heads come out as from project, rope and kv_put.
func TestRotated(t *testing.T) {
	const heads, kvHeads, blockSize, blocks, in, eps = 3, 2, 4, 2, 256, float32(1e-6)
	for i, tt := range []struct {
		q, v           quant.Type
		headDim, pairs int
		interleaved    int
		cache          quant.Type
	}{
		{quant.Q4_K, quant.Q6_K, 64, 32, 0, quant.F16},
		{quant.Q8_0, quant.Q4_0, 80, 20, 1, quant.BF16},
		{quant.F16, quant.BF16, 64, 32, 1, quant.F8_E4M3},
		{quant.F32, quant.F32, 6, 2, 0, quant.F32},
	} {
		for _, rows := range []int{1, 3, 8} {
			t.Run(fmt.Sprintf("%+v by %d", tt, rows), func(t *testing.T) {
				g := newGPU(t)
				norm, bias := none, none
				if i%2 == 0 {
					norm = g.floats(random(9, in))
					bias = g.floats(random(10, heads*tt.headDim))
				}
				x := g.floats(random(1, rows*in))
				acts := g.acts(tt.q, x, norm, rows, in, eps)
				n, kv := heads*tt.headDim, kvHeads*tt.headDim
				cos, sin := g.floats(random(4, 9*tt.pairs)), g.floats(random(5, 9*tt.pairs))
				at, slots := make([]int32, rows), make([]int32, rows)
				for r := range rows {
					at[r], slots[r] = int32(8-r), int32(r)-int32(r%2*9)
				}
				pAt, pSlots := g.ints(at...), g.ints(slots...)
				var w, y [3]uint64
				types, outs := [3]quant.Type{tt.q, tt.q, tt.v}, [3]int{n, kv, kv}
				for k := range w {
					w[k], y[k] = g.bytes(encode(types[k], random(uint64(20+k), outs[k]*in))), g.Alloc(4*rows*outs[k])
					g.run(cuda.GEMVName(types[k], rows), cuda.Dims{Rows: rows, Out: outs[k]}, y[k], w[k], acts, bias, none, outs[k], in, rows)
				}
				size, _ := tt.cache.Size(2 * blocks * kv * blockSize)
				got, want := g.bytes(make([]byte, size)), g.bytes(make([]byte, size))
				q := g.Alloc(4 * rows * n)
				g.runWith(cuda.Held(tt.q, rows, in), cuda.FusedName("rotated", tt.q, rows), cuda.Dims{Rows: rows, Blocks: 2},
					q, w[0], bias, n, cuda.TypeNumber(tt.q), w[1], bias, cuda.TypeNumber(tt.q), w[2], bias, cuda.TypeNumber(tt.v), kv,
					x, norm, cos, sin, pAt, pSlots, got, cuda.CacheNumber(tt.cache), tt.headDim, blockSize, tt.pairs, tt.interleaved, in, rows, eps)
				g.run("rope", cuda.Dims{Heads: heads, Rows: rows}, y[0], y[0], cos, sin, pAt, heads, tt.headDim, tt.pairs, tt.interleaved)
				g.run("rope", cuda.Dims{Heads: kvHeads, Rows: rows}, y[1], y[1], cos, sin, pAt, kvHeads, tt.headDim, tt.pairs, tt.interleaved)
				g.run(cuda.Name("kv_put", tt.cache), cuda.Dims{Rows: rows, Out: kv}, want, y[1], y[2], pSlots, kvHeads, tt.headDim, blockSize)
				same(t, "queries", g.got(q, rows*n), g.got(y[0], rows*n))
				g.sameCache(got, want, size)
			})
		}
	}
}
