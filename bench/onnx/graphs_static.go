package main

import (
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// What static quantisation writes: products and convolutions of floats between QuantizeLinear and
// DequantizeLinear.

// fake quantises a value and makes it floats again.
func (g *graph) fake(x string) string {
	t, low := g.eight()
	by, at := g.Floats(nil, 0.02+0.01*g.r.Float32()), g.bytes(t, low+100, low+150)
	return g.Node("DequantizeLinear", []string{g.Node("QuantizeLinear", []string{x, by, at}), by, at})
}

// dequantized is a weight of bytes as floats. Its scales, one or as many as axis is long, make it
// one of about a unit.
func (g *graph) dequantized(axis int, shape ...int) string {
	t, low := g.eight()
	in := []string{g.bytes(t, low, low+255, shape...)}
	each, attrs := []int{}, []*onnx.Attr(nil)
	if g.coin() {
		each, attrs = []int{shape[axis]}, []*onnx.Attr{onnxtest.Int("axis", int64(axis))}
	}
	in = append(in, g.scales(each...))
	if t == onnx.Uint8 || g.coin() {
		in = append(in, g.bytes(t, low+120, low+136, each...))
	}
	return g.Node("DequantizeLinear", in, attrs...)
}

func staticLinear(g *graph) {
	g.loose = 1e-3
	k, n := g.n(1, 70), g.n(1, 70)
	y := g.Node("MatMul", []string{g.fake(g.x(g.n(1, 3), g.n(1, 20), k)), g.dequantized(1, k, n)})
	if g.coin() {
		y = g.Node("Add", []string{y, g.w(n)})
	}
	g.returns(y, onnx.Float)
}

func staticConv(g *graph) {
	g.loose = 1e-3
	groups, side := one(g, 1, 1, 2), one(g, 1, 3)
	in, out := groups*g.n(1, 20), groups*g.n(1, 20)
	args := []string{g.fake(g.x(g.n(1, 2), in, 7, g.n(5, 30))), g.dequantized(0, out, in/groups, side, side)}
	if g.coin() {
		args = append(args, g.w(out))
	}
	g.f("Conv", args, onnxtest.IntList("pads", one[int64](g, 0, 0, 1), 0, 0, 0), onnxtest.Int("group", int64(groups)))
}

// staticShared has values that several products read, and others, too.
func staticShared(g *graph) {
	g.loose = 1e-3
	k, n := g.n(1, 40), g.n(1, 40)
	x, w := g.fake(g.x(g.n(1, 20), k)), g.dequantized(1, k, n)
	g.f("MatMul", []string{x, w})
	g.f("MatMul", []string{x, g.dequantized(1, k, g.n(1, 40))})
	g.f("Relu", []string{x})
	if g.coin() {
		g.f("MatMul", []string{g.fake(g.x(g.n(1, 9), k)), w})
	}
	g.f("MatMul", []string{g.fake(g.x(n, k)), g.fake(g.x(k, n))})
}

// weightsOnly has products of floats with weights of bytes.
func weightsOnly(g *graph) {
	g.loose = 0.04 // the peer rounds activations to bytes, as for MatMulNBits
	k, n := g.n(1, 70), g.n(1, 70)
	g.f("MatMul", []string{g.x(g.n(1, 20), k), g.dequantized(1, k, n)})
	g.f("Conv", []string{g.x(1, k, 9), g.dequantized(0, n, k, 3)})
}
