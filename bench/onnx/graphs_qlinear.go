package main

import (
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// The operators static quantisation writes: tensors of 8 bits with a scale and a
// zero point each.

// A quant is how a tensor of a graph is quantised.
type quant struct {
	typ  onnx.DType
	low  int
	g    *graph
	wide float32 // the largest scale
}

func (g *graph) quant() quant {
	t, low := g.eight()
	return quant{t, low, g, 0.05}
}

// by adds a scale and a zero point.
func (q quant) by() []string {
	return []string{q.g.Floats(nil, q.wide*(0.3+0.7*q.g.r.Float32())), q.g.bytes(q.typ, q.low+100, q.low+150)}
}

// weights returns a type of weights: with int8 the peer takes int8 only.
func (q quant) weights() (t onnx.DType, low int) {
	if q.typ == onnx.Int8 {
		return q.typ, q.low
	}
	return q.g.eight()
}

// x adds an input with its scale and zero point.
func (q quant) x(shape ...int) []string {
	return append([]string{q.g.i(q.typ, q.low, q.low+255, shape...)}, q.by()...)
}

// node returns what one operator of com.microsoft makes.
func (q quant) node(op string, in []string, attrs ...*onnx.Attr) {
	q.g.off = 1
	q.g.returns(q.g.Node("com.microsoft."+op, in, attrs...), q.typ)
}

func join(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func linearPair(g *graph) {
	q := g.quant()
	shape := g.dims(g.n(1, 4), 9)
	a, b := shape, g.narrowTo(shape)
	if g.coin() {
		a, b = b, a
	}
	q.node(one(g, "QLinearAdd", "QLinearMul"), join(q.x(a...), q.x(b...), q.by()))
}

func linearEach(g *graph) {
	q := g.quant()
	shape := g.dims(3, 9)
	out := quant{q.typ, q.low, g, 0.008}
	q.node("QLinearSigmoid", join(q.x(shape...), out.by()))
	q.node("QLinearLeakyRelu", join(q.x(shape...), q.by()), onnxtest.Float("alpha", 0.2))
}

func linearSoftmax(g *graph) {
	q := g.quant()
	zero := q.low
	by := []string{g.Floats(nil, 1./256), g.bytes(q.typ, zero, zero)}
	opset := one(g, int64(13), 12)
	// The peer makes 0 of a lonely 256.
	q.node("QLinearSoftmax", join(q.x(g.n(2, 8), g.n(2, 8), g.n(2, 8)), by), onnxtest.Int("axis", int64(g.n(0, 2))), onnxtest.Int("opset", opset))
}

func linearWhere(g *graph) {
	q := g.quant()
	shape := g.dims(3, 7)
	cond := g.i(onnx.Bool, 0, 1, g.narrowTo(shape)...)
	q.node("QLinearWhere", join([]string{cond}, q.x(shape...), q.x(g.narrowTo(shape)...), q.by()))
}

func linearConcat(g *graph) {
	q := g.quant()
	shape := g.dims(3, 6)
	a := g.n(0, 2)
	in := q.by()
	for range g.n(1, 4) {
		part := append([]int{}, shape...)
		part[a] = g.n(1, 5)
		in = append(in, q.x(part...)...)
	}
	q.node("QLinearConcat", in, onnxtest.Int("axis", int64(a)))
}

func linearPool(g *graph) {
	q := g.quant()
	in := q.x(g.n(1, 2), g.n(1, 5), g.n(3, 9), g.n(3, 9))
	last := onnxtest.Int("channels_last", int64(g.n(0, 1)))
	if last.I != 0 {
		in = q.x(g.n(1, 2), g.n(3, 9), g.n(3, 9), g.n(1, 5))
	}
	q.node("QLinearGlobalAveragePool", join(in, q.by()), last)
	q.node("QLinearAveragePool", join(in, q.by()), last, onnxtest.IntList("kernel_shape", 3, 2), onnxtest.IntList("pads", 1, 0, 1, 1),
		onnxtest.IntList("strides", int64(g.n(1, 2)), 1), onnxtest.Int("count_include_pad", int64(g.n(0, 1))))
}

// lastConv is a convolution and a pool with their channels last.
func lastConv(g *graph) {
	q := g.quant()
	in, out := g.n(1, 4), g.n(1, 5)
	wt, wl := q.weights()
	x := q.x(1, 6, 7, in)
	scale, zero := []int{}, []int{}
	if g.coin() {
		scale, zero = []int{out}, []int{out}
	}
	to := quant{q.typ, q.low, g, 0.3}
	q.node("QLinearConv", join(x, []string{g.bytes(wt, wl, wl+255, out, in, 3, 3), g.scales(scale...), g.bytes(wt, wl+120, wl+120, zero...)}, to.by()),
		onnxtest.Int("channels_last", 1), onnxtest.IntList("pads", 1, 1, 0, 0), onnxtest.IntList("strides", 1, 2))
	q.node("NhwcMaxPool", x[:1], onnxtest.IntList("kernel_shape", 2, 2), onnxtest.IntList("strides", 2, 1))
}

func linearGemm(g *graph) {
	q := g.quant()
	m, k, n := g.n(1, 12), g.n(1, 70), g.n(1, 70)
	wt, wl := q.weights()
	shape, turn := []int{k, n}, g.n(0, 1)
	if turn == 1 {
		shape = []int{n, k}
	}
	size := one(g, []int{}, []int{n})
	in := join(q.x(m, k), []string{g.bytes(wt, wl, wl+255, shape...), g.scales(size...), g.bytes(wt, wl+100, wl+150, size...), ""})
	if g.coin() {
		in[6] = g.i(onnx.Int32, -2000, 2000, one(g, []int{n}, []int{1, n})...)
	}
	attrs := []*onnx.Attr{onnxtest.Int("transB", int64(turn)), onnxtest.Float("alpha", one[float32](g, 1, 0.5))}
	if g.coin() {
		g.f("com.microsoft.QGemm", in, attrs...)
		return
	}
	to := quant{q.typ, q.low, g, 1}
	q.node("QGemm", join(in, to.by()), attrs...)
}
