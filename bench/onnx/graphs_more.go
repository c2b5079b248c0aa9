package main

import (
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// Operators of com.microsoft that are rarer than those of graphs_contrib.go.

func dynamicLSTM(g *graph) {
	in, hidden, directions := g.n(1, 9), g.n(1, 8), g.n(1, 2)
	times, batch := g.n(1, 6), 1
	t, low := g.eight()
	way := "bidirectional"
	if directions == 1 {
		way = one(g, "forward", "reverse")
	}
	scale, zero := []int{directions}, []int{directions}
	if g.coin() {
		scale, zero = []int{directions, 4 * hidden}, []int{directions, 4 * hidden}
	}
	g.loose = 2e-2 // the peer rounds states in an order of its own
	g.Named([]string{"y", "h", "c"}, "com.microsoft.DynamicQuantizeLSTM", []string{
		g.x(times, batch, in), g.bytes(t, low+100, low+155, directions, in, 4*hidden), g.bytes(t, low+100, low+155, directions, hidden, 4*hidden),
		g.w(directions, 8*hidden), "", g.x(directions, batch, hidden), g.x(directions, batch, hidden), "",
		g.scales(scale...), g.bytes(t, low+128, low+128, zero...), g.scales(scale...), g.bytes(t, low+128, low+128, zero...),
	}, onnxtest.Text("direction", way), onnxtest.Int("hidden_size", int64(hidden)))
	for _, name := range []string{"y", "h", "c"} {
		g.returns(name, onnx.Float)
	}
}

func matMulBnb4(g *graph) {
	n, k, block := g.n(1, 20), g.n(1, 6)*8, one(g, 16, 32, 64)
	blocks := (n*k + block - 1) / block
	g.f("com.microsoft.MatMulBnb4", []string{g.x(g.n(1, 3), g.n(1, 5), k), g.bytes(onnx.Uint8, 0, 255, (n*k+1)/2), g.scales(blocks)},
		onnxtest.Int("N", int64(n)), onnxtest.Int("K", int64(k)), onnxtest.Int("block_size", int64(block)), onnxtest.Int("quant_type", int64(g.n(0, 1))))
}

func named(g *graph) {
	switch g.n(0, 3) {
	case 0:
		g.f("com.microsoft.TransposeMatMul", []string{g.x(4, 3), g.w(5, 3)}, onnxtest.Int("transB", 1), onnxtest.Float("alpha", 0.5))
		g.f("com.microsoft.GatherND", []string{g.x(3, 4, 2), g.i(onnx.Int64, 0, 2, 5, 2)})
	case 1:
		g.f("com.microsoft.GridSample", []string{g.x(2, 3, 5, 4), g.x(2, 3, 3, 2)}, onnxtest.Text("mode", one(g, "bilinear", "nearest")), onnxtest.Int("align_corners", int64(g.n(0, 1))))
		g.f("com.microsoft.Trilu", []string{g.x(2, 4, 5), g.Ints(nil, int64(g.n(-2, 2)))}, onnxtest.Int("upper", int64(g.n(0, 1))))
	case 2:
		g.f("com.microsoft.Pad", []string{g.x(2, 3), g.List(1, 0, 0, 2), g.Floats(nil, 0.5)})
		g.f("com.microsoft.ExpandDims", []string{g.x(2, 3), g.Weight(&onnx.Tensor{Type: onnx.Int32, Shape: []int{}, Data: []byte{1, 0, 0, 0}})})
		g.f("com.microsoft.Range", []string{g.Floats(nil, 1), g.Floats(nil, 7.5)})
	case 3:
		g.Named([]string{"u", "i", "n"}, "com.microsoft.Unique", []string{g.whole(9)})
		g.returns("u", onnx.Float)
		g.returns("i", onnx.Int64)
		g.returns("n", onnx.Int64)
	}
}

func inverse(g *graph) {
	g.loose = 1e-2 // some matrices are nearly singular
	n := g.n(1, 6)
	g.f("com.microsoft.Inverse", []string{g.x(g.n(1, 3), n, n)})
	g.f("com.microsoft.CDist", []string{g.x(4, n), g.x(6, n)}, onnxtest.Text("metric", one(g, "euclidean", "sqeuclidean")))
}

// whole is an input of a few whole numbers, as floats.
func (g *graph) whole(shape ...int) string {
	v := make([]float32, size(shape))
	for i := range v {
		v[i] = float32(g.n(0, 4))
	}
	return g.declare(run.NewFloats(shape, v))
}

// maskedMHA is a step of a decoder: attention to itself or to what an encoder
// found.
func maskedMHA(g *graph) {
	b, n, d, past := g.n(1, 3), g.n(1, 4), 4*g.n(1, 5), g.n(1, 5)
	heads := onnxtest.Int("num_heads", int64(n))
	if g.coin() {
		keys := g.n(1, 9)
		g.f("com.microsoft.DecoderMaskedMultiHeadAttention", []string{g.x(b, 1, n*d), g.x(b, n, keys, d), g.x(b, n, keys, d)}, heads)
		return
	}
	room := past + g.n(1, 3)
	in := []string{
		g.x(b, 1, n*d), g.x(b, 1, n*d), g.x(b, 1, n*d), "", "", g.x(b, n, room, d), g.x(b, n, room, d),
		g.Weight(&onnx.Tensor{Type: onnx.Int32, Shape: []int{1}, Data: []byte{byte(past), 0, 0, 0}}),
	}
	g.Named([]string{"y", "k", "v"}, "com.microsoft.DecoderMaskedMultiHeadAttention", in, heads, onnxtest.Int("past_present_share_buffer", 1))
	for _, name := range []string{"y", "k", "v"} {
		g.returns(name, onnx.Float)
	}
}

func quantisedEmbedNorm(g *graph) {
	b, s, n := g.n(1, 3), g.n(1, 6), 4*g.n(1, 8)
	t, low := g.eight()
	in := []string{g.i(onnx.Int32, 0, 9, b, s), g.i(onnx.Int32, 0, 1, b, s)}
	for _, shape := range [][]int{{10, n}, {8, n}, {2, n}, {n}, {n}} {
		in = append(in, g.bytes(t, low, low+255, shape...))
	}
	in = append(in, "")
	for range 5 {
		in = append(in, g.scales())
	}
	for range 5 {
		in = append(in, g.bytes(t, low+100, low+150))
	}
	g.Named([]string{"y", "lengths"}, "com.microsoft.QEmbedLayerNormalization", in)
	g.returns("y", onnx.Float)
}
