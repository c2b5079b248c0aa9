package cuda_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/quant"
	"quern/kernels/vec"
)

func TestNorms(t *testing.T) {
	const eps = 1e-5
	for _, n := range []int{1, 31, 64, 257, 1000} {
		for _, rows := range []int{1, 3} {
			x, w, bias := random(1, rows*n), random(2, n), random(3, n)
			want := make([]float32, rows*n)
			g := newGPU(t)
			ulps := (float64(n)/256 + 12) * 0x1p-23
			vec.RMSNorm(want, x, w, eps)
			bound := func(i int) float64 { return ulps * math.Abs(float64(want[i])) }
			dst := g.floats(x) // dst may be x
			g.run("rmsnorm", cuda.Dims{Rows: rows}, dst, dst, g.floats(w), n, 1, float32(eps))
			got := g.got(dst, rows*n)
			near(t, fmt.Sprintf("rmsnorm of %d", n), got, want, bound)

			size := quant.ActBytes(quant.ActQ8_32, n)
			q, also := g.Alloc(rows*size), g.Alloc(4*rows*n)
			g.run("rmsnorm_quantize", cuda.Dims{Rows: rows}, q, also, g.floats(x), g.floats(w), n, float32(eps))
			same(t, "rmsnorm_quantize", g.got(also, rows*n), got)
			packed, wanted := make([]byte, rows*size), make([]byte, size)
			if err := g.Read(q, packed); err != nil {
				t.Fatal(err)
			}
			for r := range rows {
				quant.QuantizeActQ8_32(wanted, got[r*n:(r+1)*n])
				if !bytes.Equal(packed[r*size:(r+1)*size], wanted) {
					t.Errorf("rmsnorm_quantize: row %d of %d is not what QuantizeActQ8_32 makes", r, n)
				}
			}
			g.run("rmsnorm_quantize", cuda.Dims{Rows: rows}, q, none, g.floats(x), g.floats(w), n, float32(eps))

			for _, b := range [][]float32{bias, nil} {
				vec.LayerNorm(want, x, w, b, eps)
				at := none
				if b != nil {
					at = g.floats(b)
				}
				dst = g.floats(x)
				g.run("layernorm", cuda.Dims{Rows: rows}, dst, dst, g.floats(w), at, n, 1, float32(eps))
				near(t, fmt.Sprintf("layernorm of %d", n), g.got(dst, rows*n), want, func(i int) float64 {
					return ulps * 8 * (1 + math.Abs(float64(w[i%n])) + math.Abs(float64(want[i])))
				})
			}
		}
	}
}

func TestPointwise(t *testing.T) {
	const n, rows = 301, 3
	x, y, v := random(1, n*rows), random(2, n*rows), random(3, n)
	for i := range x {
		x[i] *= 4
		y[i] *= 4
	}
	x[0], x[1], x[2], x[3] = 90, -90, 300, -300
	all := cuda.Dims{Rows: 1, Out: n * rows}
	each := cuda.Dims{Rows: rows, Out: n}
	want := make([]float32, n*rows)
	g := newGPU(t)
	px, py, pv := g.floats(x), g.floats(y), g.floats(v)
	out := func() uint64 { return g.Alloc(4 * n * rows) }

	dst := out()
	g.run("add", all, dst, px, py, n*rows)
	vec.Add(want, x, y)
	same(t, "add", g.got(dst, n*rows), want)

	dst = out()
	g.run("bias", each, dst, px, pv, n)
	vec.Bias(want, x, v)
	same(t, "bias", g.got(dst, n*rows), want)

	dst = out()
	g.run("scale", all, dst, px, n*rows, float32(0.3))
	vec.Scale(want, x, 0.3)
	same(t, "scale", g.got(dst, n*rows), want)

	dst = out()
	g.run("softcap", all, dst, px, n*rows, float32(30))
	vec.SoftCap(want, x, 30)
	near(t, "softcap", g.got(dst, n*rows), want, func(int) float64 { return 30 * 0x1p-20 })

	dst = out()
	g.run("weigh", each, dst, px, g.floats(y[:rows]), n)
	vec.Weigh(want, x, y[:rows])
	near(t, "weigh", g.got(dst, n*rows), want, func(i int) float64 { return 16 * 0x1p-22 * math.Abs(float64(want[i])) })

	dst = g.Alloc(4 * 2 * n)
	g.run("take", cuda.Dims{Rows: 2, Out: n}, dst, px, g.ints(2, 0), n)
	same(t, "take", g.got(dst, 2*n), append(append([]float32(nil), x[2*n:]...), x[:n]...))

	dst = out()
	g.run("clamp", all, dst, px, n*rows, float32(3))
	vec.Clamp(want, x, 3)
	same(t, "clamp", g.got(dst, n*rows), want)

	dst = out()
	g.run("xielu", all, dst, px, n*rows, float32(0.8), float32(1.3), float32(0.5), float32(-1e-6))
	vec.XIELU(want, x, 0.8, 1.3, 0.5, -1e-6)
	near(t, "xielu", g.got(dst, n*rows), want, func(i int) float64 { return (2 + math.Abs(float64(x[i])) + math.Abs(float64(want[i]))) * 0x1p-21 })

	dst = out()
	positions := []int32{5, 8192, 100000}
	g.run("temper", each, dst, px, g.ints(positions...), n, float32(0.1), 8192, 1)
	for i, v := range x {
		want[i] = v * float32(1+0.1*math.Log1p(float64((positions[i/n]+1)/8192)))
	}
	near(t, "temper", g.got(dst, n*rows), want, func(i int) float64 { return 0x1p-20 * math.Abs(float64(want[i])) })

	for act, f := range []func(dst, x, up []float32){vec.SiLUGate, vec.GELU, vec.GELUTanh, vec.SwiGLUClamped, vec.SigmoidGate, vec.Multiply, vec.SquaredReLU,
		func(dst, x, up []float32) { vec.Tanh(dst, x) }} {
		for _, up := range [][]float32{y, nil} {
			at := py
			if act == 7 != (up == nil) && act != 1 && act != 2 && act != 6 {
				continue // no gate, or no activation alone
			}
			if up == nil {
				at = none
			}
			dst = g.floats(x)
			g.run("gate", all, dst, dst, at, n*rows, act)
			f(want, x, up)
			near(t, fmt.Sprintf("gate %d", act), g.got(dst, n*rows), want, func(i int) float64 {
				gate, u := math.Abs(float64(x[i])), 1.0
				if up != nil {
					u = math.Abs(float64(up[i])) + 1
				}
				if act >= 4 {
					return (4 + 2*gate) * 0x1p-22 * max(u, math.Abs(float64(want[i])))
				}
				return (4 + 2*gate) * 0x1p-22 * gate * u
			})
		}
	}
}

// Norms whose groups have weights of their own, and heads cut and joined.
func TestGroups(t *testing.T) {
	const rows, groups, n = 2, 3, 40
	x, w := random(1, rows*groups*n), random(2, groups*n)
	g := newGPU(t)
	px, pw := g.floats(x), g.floats(w)
	for _, tt := range []struct {
		name string
		run  func(dst uint64)
		norm func(dst, x, w []float32)
	}{
		{"rmsnorm", func(dst uint64) {
			g.run("rmsnorm", cuda.Dims{Rows: rows * groups}, dst, px, pw, n, groups, float32(1e-5))
		}, func(dst, x, w []float32) { vec.RMSNorm(dst, x, w, 1e-5) }},
		{"layernorm", func(dst uint64) {
			g.run("layernorm", cuda.Dims{Rows: rows * groups}, dst, px, pw, pw, n, groups, float32(1e-5))
		}, func(dst, x, w []float32) { vec.LayerNorm(dst, x, w, w, 1e-5) }},
	} {
		want, dst := make([]float32, len(x)), g.Alloc(4*len(x))
		for at := 0; at < len(x); at += n {
			tt.norm(want[at:at+n], x[at:at+n], w[at%len(w):at%len(w)+n])
		}
		tt.run(dst)
		near(t, tt.name, g.got(dst, len(x)), want, func(i int) float64 { return 0x1p-18 * (1 + math.Abs(float64(want[i]))) })
	}

	const from, count = 7, 30
	var cut, joined []float32
	y := random(3, rows*groups*5)
	for h := range rows * groups {
		cut = append(cut, x[h*n+from:h*n+from+count]...)
		joined = append(append(joined, x[h*n:(h+1)*n]...), y[h*5:(h+1)*5]...)
	}
	dst := g.Alloc(4 * len(cut))
	g.run("head_cut", cuda.Dims{Rows: rows, Out: groups * count}, dst, px, groups*count, n, from, count)
	same(t, "head_cut", g.got(dst, len(cut)), cut)
	dst = g.Alloc(4 * len(joined))
	g.run("head_join", cuda.Dims{Rows: rows, Out: groups * (n + 5)}, dst, px, g.floats(y), groups*(n+5), n, 5)
	same(t, "head_join", g.got(dst, len(joined)), joined)
}

func TestRope(t *testing.T) {
	const rows, heads = 3, 2
	for _, tt := range []struct{ headDim, pairs int }{{64, 32}, {80, 20}, {6, 3}, {256, 128}} {
		for _, interleaved := range []bool{false, true} {
			x := random(1, rows*heads*tt.headDim)
			want := make([]float32, len(x))
			at := []int32{4, 0, 2} // rows of a table of five positions
			cos, sin := random(2, 5*tt.pairs), random(3, 5*tt.pairs)
			n := heads * tt.headDim
			for r, p := range at {
				vec.Rope(want[r*n:(r+1)*n], x[r*n:(r+1)*n], tt.headDim, cos[int(p)*tt.pairs:(int(p)+1)*tt.pairs], sin[int(p)*tt.pairs:(int(p)+1)*tt.pairs], interleaved)
			}
			g := newGPU(t)
			flag := 0
			if interleaved {
				flag = 1
			}
			for _, dst := range []uint64{g.floats(x), g.Alloc(4 * len(x))} {
				src := g.floats(x)
				if g.Read(dst, make([]byte, 4*len(x))) == nil {
					src = dst // dst may be x
				}
				g.run("rope", cuda.Dims{Heads: heads, Rows: rows}, dst, src, g.floats(cos), g.floats(sin), g.ints(at...), heads, tt.headDim, tt.pairs, flag)
				same(t, fmt.Sprintf("rope of %d in %d", tt.pairs, tt.headDim), g.got(dst, len(x)), want)
			}
		}
	}
}
