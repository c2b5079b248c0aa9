package main

import (
	"math"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// The operators of com.microsoft and what exporters write for them.

func gelus(g *graph) {
	n := g.n(1, 50)
	x, b := g.x(g.n(1, 4), n), g.w(n)
	g.f("com.microsoft.Gelu", []string{x})
	g.f("com.microsoft.BiasGelu", []string{x, b})
	g.f("com.microsoft.FastGelu", []string{x, b})
	g.f("com.microsoft.FastGelu", []string{x})
}

func quickGelu(g *graph) {
	g.f("com.microsoft.QuickGelu", []string{g.x(g.n(1, 4), g.n(1, 50))}, onnxtest.Float("alpha", 1.702))
}

func mha(g *graph) {
	b, n, d := g.n(1, 3), g.n(1, 4), 4*g.n(1, 5)
	s, t, p := g.n(1, 6), g.n(1, 9), g.n(0, 3)
	in := []string{g.x(b, s, n*d), g.x(b, t, n*d), g.x(b, t, n*d), "", "", ""}
	if g.coin() {
		in[3] = g.w(3 * n * d)
	}
	if g.coin() {
		in[4] = g.i(onnx.Int32, 1, t, b) // how many keys an item has
		if p > 0 {
			in[4] = ""
		}
	}
	if g.coin() {
		in[5] = g.x(b, n, s, t+p)
	}
	if p == 0 {
		g.f("com.microsoft.MultiHeadAttention", in, onnxtest.Int("num_heads", int64(n)))
		return
	}
	in = append(in, g.x(b, n, p, d), g.x(b, n, p, d))
	g.Named([]string{"y", "k", "v"}, "com.microsoft.MultiHeadAttention", in, onnxtest.Int("num_heads", int64(n)))
	for _, name := range []string{"y", "k", "v"} {
		g.returns(name, onnx.Float)
	}
}

func attention(g *graph) {
	b, n, d, s, c := g.n(1, 3), g.n(1, 4), 4*g.n(1, 4), g.n(1, 7), g.n(1, 20)
	in := []string{g.x(b, s, c), g.w(c, 3*n*d), g.w(3 * n * d)}
	switch g.n(0, 2) {
	case 0:
		in = append(in, g.i(onnx.Int32, 1, s, b))
	case 1:
		in = append(in, g.i(onnx.Int32, 0, 1, b, s))
	}
	g.f("com.microsoft.Attention", in, onnxtest.Int("num_heads", int64(n)), onnxtest.Int("unidirectional", int64(g.n(0, 1))))
}

func groupQuery(g *graph) {
	kv, d, past := g.n(1, 3), 16, g.n(0, 4)
	n, b := kv*g.n(1, 3), 1
	s := 1
	if past == 0 {
		s = g.n(1, 6)
	}
	total := past + s
	in := []string{
		g.x(b, s, n*d), g.x(b, s, kv*d), g.x(b, s, kv*d), g.x(b, kv, past, d), g.x(b, kv, past, d),
		g.Weight(&onnx.Tensor{Type: onnx.Int32, Shape: []int{b}, Data: []byte{byte(total - 1), 0, 0, 0}}),
		g.Weight(&onnx.Tensor{Type: onnx.Int32, Shape: []int{1}, Data: []byte{byte(total), 0, 0, 0}}),
		g.w(32, d/2), g.w(32, d/2),
	}
	g.Named([]string{"y", "k", "v"}, "com.microsoft.GroupQueryAttention", in, onnxtest.Int("num_heads", int64(n)), onnxtest.Int("kv_num_heads", int64(kv)),
		onnxtest.Int("do_rotary", int64(g.n(0, 1))), onnxtest.Int("rotary_interleaved", int64(g.n(0, 1))), onnxtest.Int("local_window_size", int64(one(g, -1, 3))))
	for _, name := range []string{"y", "k", "v"} {
		g.returns(name, onnx.Float)
	}
}

func rotary(g *graph) {
	b, n, s, d := g.n(1, 2), g.n(1, 3), g.n(1, 5), 2*g.n(1, 8)
	at := g.i(onnx.Int64, 0, 9, b, s)
	if g.coin() {
		at = g.i(onnx.Int64, 0, 5, 1)
	}
	g.f("com.microsoft.RotaryEmbedding", []string{g.x(b, n, s, d), at, g.w(16, d/2), g.w(16, d/2)}, onnxtest.Int("interleaved", int64(g.n(0, 1))))
}

func embedNorm(g *graph) {
	b, s, n := g.n(1, 3), g.n(1, 6), 4*g.n(1, 8)
	g.Named([]string{"y", "lengths"}, "com.microsoft.EmbedLayerNormalization", []string{
		g.i(onnx.Int32, 0, 9, b, s), g.i(onnx.Int32, 0, 1, b, s), g.w(10, n), g.w(8, n), g.w(2, n), g.w(n), g.w(n),
	})
	g.returns("y", onnx.Float)
	g.returns("lengths", onnx.Int32)
}

// decomposedGelu is GELU as exporters write it.
func decomposedGelu(g *graph) {
	x := g.x(g.n(1, 5), g.n(1, 40))
	c := func(v float32) string { return g.Floats(nil, v) }
	mul := func(a, b string) string {
		if g.coin() {
			a, b = b, a
		}
		return g.Node("Mul", []string{a, b})
	}
	var half string
	if g.coin() {
		half = g.Node("Erf", []string{g.Node("Div", []string{x, c(math.Sqrt2)})})
	} else {
		cube := g.Node("Pow", []string{x, c(3)})
		if g.coin() {
			cube = mul(x, mul(x, x))
		}
		half = g.Node("Tanh", []string{mul(c(0.7978845608), g.Node("Add", []string{x, mul(c(0.044715), cube)}))})
	}
	half = g.Node("Add", []string{half, c(1)})
	if g.coin() {
		g.returns(mul(mul(x, c(0.5)), half), onnx.Float)
	} else {
		g.returns(mul(mul(x, half), c(0.5)), onnx.Float)
	}
}

// decomposedAttention is attention as exporters write it.
func decomposedAttention(g *graph) {
	b, n, d, s, t := g.n(1, 3), g.n(1, 4), 4*g.n(1, 5), g.n(1, 60), g.n(1, 60)
	head := func(rows int, perm ...int64) string {
		y := g.Node("Reshape", []string{g.x(b, rows, n*d), g.List(0, 0, int64(n), int64(d))})
		return g.Node("Transpose", []string{y}, onnxtest.IntList("perm", perm...))
	}
	q, k, v := head(s, 0, 2, 1, 3), "", head(t, 0, 2, 1, 3)
	if g.coin() {
		k = head(t, 0, 2, 3, 1)
	} else {
		k = g.Node("Transpose", []string{head(t, 0, 2, 1, 3)}, onnxtest.IntList("perm", 0, 1, 3, 2))
	}
	root := g.Floats(nil, float32(math.Sqrt(float64(d))))
	fourth := g.Floats(nil, float32(1/math.Sqrt(math.Sqrt(float64(d)))))
	var y string
	if g.coin() {
		y = g.Node("Div", []string{g.Node("MatMul", []string{q, k}), root})
	} else {
		y = g.Node("MatMul", []string{g.Node("Mul", []string{q, fourth}), g.Node("Mul", []string{k, fourth})})
	}
	if g.coin() {
		y = g.Node("Add", []string{y, g.x(one(g, []int{b, 1, 1, t}, []int{1, 1, s, t}, []int{s, t})...)})
	}
	y = g.Node("MatMul", []string{g.Node("Softmax", []string{y}, onnxtest.Int("axis", -1)), v})
	if g.coin() {
		y = g.Node("Transpose", []string{y}, onnxtest.IntList("perm", 0, 2, 1, 3))
	}
	g.returns(y, onnx.Float)
}

func gatherBlocks(g *graph) {
	block := 16
	rows, width := g.n(2, 6), block*g.n(1, 3)
	g.f("com.microsoft.GatherBlockQuantized", []string{
		g.Weight(&onnx.Tensor{Type: onnx.Uint4, Shape: []int{rows, width}, Data: g.random(rows * width / 2)}),
		g.i(onnx.Int64, 0, rows-1, g.dims(2, 3)...), g.scales(rows, width/block),
	}, onnxtest.Int("gather_axis", 0), onnxtest.Int("quantize_axis", 1), onnxtest.Int("block_size", int64(block)))
}

func (g *graph) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.r.Uint32())
	}
	return b
}

func fusedConv(g *graph) {
	act, params := "Relu", []float32(nil)
	switch g.n(0, 3) {
	case 0:
		act, params = "LeakyRelu", []float32{0.1}
	case 1:
		act, params = "Clip", []float32{-0.5, 2}
	case 2:
		act, params = "HardSigmoid", []float32{0.3, 0.4}
	}
	in, out := g.n(1, 4), g.n(1, 4)
	attrs := []*onnx.Attr{onnxtest.Text("activation", act), onnxtest.IntList("pads", 1, 1, 1, 1)}
	if params != nil {
		attrs = append(attrs, onnxtest.FloatList("activation_params", params...))
	}
	args := []string{g.x(2, in, 5, 6), g.w(out, in, 3, 3), g.w(out)}
	if g.coin() {
		args = append(args, g.x(2, out, 5, 6))
	}
	g.f("com.microsoft.FusedConv", args, attrs...)
}

func fusedGemm(g *graph) {
	m, k, n := g.n(1, 8), g.n(1, 20), g.n(1, 20)
	act := one(g, "Relu", "LeakyRelu", "Tanh", "Sigmoid")
	attrs := []*onnx.Attr{onnxtest.Text("activation", act), onnxtest.Int("transB", 1)}
	if act == "LeakyRelu" {
		attrs = append(attrs, onnxtest.Float("activation_alpha", 0.2))
	}
	g.f("com.microsoft.FusedGemm", []string{g.x(m, k), g.w(n, k), g.w(n)}, attrs...)
}
