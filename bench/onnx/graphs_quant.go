package main

import (
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// The operators of integers.

func quantize(g *graph) {
	g.off = 1
	shape := g.dims(3, 8)
	a := g.n(0, 2)
	t := one(g, onnx.Uint8, onnx.Int8)
	low := 0
	if t == onnx.Int8 {
		low = -128
	}
	x := g.x(shape...)
	g.returns(g.Node("QuantizeLinear", []string{x, g.scales(), g.bytes(t, low, low+255)}), t)
	g.returns(g.Node("QuantizeLinear", []string{x, g.scales(shape[a]), g.bytes(t, low, low+255, shape[a])}, onnxtest.Int("axis", int64(a))), t)
}

func dequantize(g *graph) {
	block := g.n(2, 4)
	shape := []int{g.n(1, 4), block * g.n(1, 4), g.n(1, 5)}
	t := one(g, onnx.Uint8, onnx.Int8)
	x := g.i(t, 0, 127, shape...)
	g.f("DequantizeLinear", []string{x, g.scales(), g.bytes(t, 0, 100)})
	g.f("DequantizeLinear", []string{x, g.scales(shape[1]), g.bytes(t, 0, 100, shape[1])}, onnxtest.Int("axis", 1))
	blocks := []int{shape[0], shape[1] / block, shape[2]}
	g.f("DequantizeLinear", []string{x, g.scales(blocks...), g.bytes(t, 0, 100, blocks...)}, onnxtest.Int("axis", 1), onnxtest.Int("block_size", int64(block)))
}

func dynamicQuantize(g *graph) {
	g.off = 1
	g.Named([]string{"q", "s", "z"}, "DynamicQuantizeLinear", []string{g.x(g.dims(3, 9)...)})
	g.returns("q", onnx.Uint8)
	g.returns("s", onnx.Float)
	g.returns("z", onnx.Uint8)
}

func (g *graph) eight() (t onnx.DType, low int) {
	if g.coin() {
		return onnx.Int8, -128
	}
	return onnx.Uint8, 0
}

func matMulInteger(g *graph) {
	m, k, n := g.n(1, 20), g.n(1, 70), g.n(1, 70)
	bt, bl := g.eight()
	zero := []int{}
	if g.coin() {
		zero = []int{n}
	}
	g.returns(g.Node("MatMulInteger", []string{g.i(onnx.Uint8, 0, 255, g.n(1, 3), m, k), g.bytes(bt, bl, bl+255, k, n), g.bytes(onnx.Uint8, 0, 255), g.bytes(bt, bl, bl+255, zero...)}), onnx.Int32)
}

func linearMatMul(g *graph) {
	g.off = 1
	m, k, n := g.n(1, 10), g.n(1, 30), g.n(1, 30)
	at, al := g.eight()
	g.returns(g.Node("QLinearMatMul", []string{
		g.i(at, al, al+255, m, k), g.scales(), g.bytes(at, al+100, al+150),
		g.bytes(at, al, al+255, k, n), g.scales(), g.bytes(at, al+100, al+150),
		g.Floats(nil, 0.3), g.bytes(at, al+100, al+150),
	}), at)
}

// dynamicLinear is what quantize_dynamic makes of a linear layer, as nodes of
// ai.onnx and as one of com.microsoft.
func dynamicLinear(g *graph) {
	g.loose = 1e-3
	k, n := g.n(1, 70), g.n(1, 70)
	x := g.x(g.n(1, 3), g.n(1, 20), k)
	bt, bl := g.eight()
	scale, zero := []int{1}, []int{}
	if g.coin() {
		scale, zero = []int{n}, []int{n}
	}
	w, ws, wz := g.bytes(bt, bl, bl+255, k, n), g.scales(scale...), g.bytes(bt, bl+120, bl+136, zero...)
	g.Named([]string{"q", "s", "z"}, "DynamicQuantizeLinear", []string{x})
	y := g.Node("Cast", []string{g.Node("MatMulInteger", []string{"q", w, "z", wz})}, onnxtest.Int("to", int64(onnx.Float)))
	y = g.Node("Mul", []string{y, g.Node("Mul", []string{"s", ws})})
	bias := g.w(n)
	if g.coin() {
		y = g.Node("Add", []string{bias, y})
	}
	g.returns(y, onnx.Float)
	g.f("com.microsoft.DynamicQuantizeMatMul", []string{x, w, ws, wz, bias})
}

func integerToFloat(g *graph) {
	m, k, n := g.n(1, 20), g.n(1, 60), g.n(1, 60)
	bt, bl := g.eight()
	g.f("com.microsoft.MatMulIntegerToFloat", []string{
		g.i(onnx.Uint8, 0, 255, m, k), g.bytes(bt, bl, bl+255, k, n), g.scales(), g.scales(n), g.bytes(onnx.Uint8, 100, 150), g.bytes(bt, bl+100, bl+150, n), g.w(n),
	})
}

func linearConv(g *graph) {
	g.off = 1
	in, out := g.n(1, 3), g.n(1, 4)
	g.returns(g.Node("QLinearConv", []string{
		g.i(onnx.Uint8, 0, 255, 1, in, 6, 6), g.scales(), g.bytes(onnx.Uint8, 100, 150),
		g.bytes(onnx.Uint8, 0, 255, out, in, 3, 3), g.scales(), g.bytes(onnx.Uint8, 100, 150),
		g.Floats(nil, 0.1), g.bytes(onnx.Uint8, 100, 150),
	}, onnxtest.IntList("pads", 1, 1, 1, 1)), onnx.Uint8)
}

func convInteger(g *graph) {
	in, out := g.n(1, 3), g.n(1, 4)
	g.returns(g.Node("ConvInteger", []string{
		g.i(onnx.Uint8, 0, 255, 1, in, 6, 6), g.bytes(onnx.Uint8, 0, 255, out, in, 3, 3), g.bytes(onnx.Uint8, 100, 150),
	}, onnxtest.IntList("pads", 1, 0, 1, 1)), onnx.Int32)
}

func nBits(g *graph) {
	g.loose = 1e-3
	bits := one(g, 4, 8)
	block := one(g, 16, 32)
	n, k := g.n(1, 40), block*g.n(1, 4)
	count := k / block
	level := one(g, 0, 4)
	scales := g.scales(n * count)
	if level == 4 { // the peer rounds activations, by 0.6 % of the results' mean; scales may be float16's
		g.loose = 0.04
		v := make([]float32, n*count)
		for i := range v {
			v[i] = float32(g.n(1, 16)) / 1024
		}
		scales = g.Floats([]int{n * count}, v...)
	}
	in := []string{g.x(g.n(1, 6), k), g.bytes(onnx.Uint8, 0, 255, n, count, block*bits/8), scales}
	if g.coin() {
		in = append(in, g.bytes(onnx.Uint8, 0, 255, n*((count*bits+7)/8)))
	}
	g.f("com.microsoft.MatMulNBits", in, onnxtest.Int("N", int64(n)), onnxtest.Int("K", int64(k)), onnxtest.Int("bits", int64(bits)), onnxtest.Int("block_size", int64(block)), onnxtest.Int("accuracy_level", int64(level)))
}
