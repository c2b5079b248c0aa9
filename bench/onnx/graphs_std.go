package main

import (
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// The operators of ai.onnx.

func unary(g *graph) {
	ops := []string{
		"Abs", "Neg", "Exp", "Tanh", "Sigmoid", "Relu", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign", "HardSigmoid", "Erf", "Sin", "Cos",
		"Atan", "Floor", "Ceil", "Round", "Sign", "HardSwish", "Celu", "Mish", "ThresholdedRelu", "Sinh", "Asinh", "Tan",
	}
	x := g.x(g.dims(g.n(1, 4), 6)...)
	for range 6 {
		g.f(one(g, ops...), []string{x})
	}
	g.f("Log", []string{g.Node("Add", []string{g.Node("Abs", []string{x}), g.Floats(nil, 0.5)})})
	g.f("Sqrt", []string{g.Node("Abs", []string{x})})
	g.f("Clip", []string{x, g.Floats(nil, -0.5), g.Floats(nil, 0.7)})
}

func binary(g *graph) {
	shape := g.dims(g.n(1, 4), 5)
	a, b := g.x(shape...), g.x(g.narrowTo(shape)...)
	if g.coin() {
		a, b = b, a
	}
	for _, op := range []string{"Add", "Sub", "Mul", "Max", "Min"} {
		g.f(op, []string{a, b})
	}
	positive := g.Node("Add", []string{g.Node("Abs", []string{b}), g.Floats(nil, 0.5)})
	g.f("Div", []string{a, positive})
	g.f("Pow", []string{positive, a})
	g.f("Mod", []string{a, positive}, onnxtest.Int("fmod", 1))
	g.f("PRelu", []string{g.x(shape...), g.w(g.narrowTo(shape)...)})
}

func chain(g *graph) {
	shape := g.dims(3, 6)
	x := g.x(shape...)
	for range g.n(3, 8) {
		switch g.n(0, 3) {
		case 0:
			x = g.Node(one(g, "Tanh", "Sigmoid", "Erf", "Softplus", "Relu"), []string{x})
		case 1:
			x = g.Node(one(g, "Add", "Sub", "Mul"), []string{x, g.w(g.narrowTo(shape)...)})
		case 2:
			x = g.Node("Add", []string{x, x})
		case 3:
			x = g.Node("Mul", []string{g.Node("Sigmoid", []string{x}), x})
		}
	}
	g.returns(x, onnx.Float)
}

func integers(g *graph) {
	shape := g.dims(3, 5)
	t := one(g, onnx.Int64, onnx.Int32)
	a, b := g.i(t, -50, 50, shape...), g.i(t, 1, 9, g.narrowTo(shape)...)
	for _, op := range []string{"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"} {
		g.returns(g.Node(op, []string{a, b}), t)
	}
	g.returns(g.Node("Abs", []string{a}), t)
	g.f("Cast", []string{a}, onnxtest.Int("to", int64(onnx.Float)))
}

func compare(g *graph) {
	shape := g.dims(3, 5)
	a, b := g.i(onnx.Int64, 0, 4, shape...), g.i(onnx.Int64, 0, 4, g.narrowTo(shape)...)
	p, q := g.Node(one(g, "Less", "Greater", "Equal"), []string{a, b}), g.Node(one(g, "LessOrEqual", "GreaterOrEqual"), []string{a, b})
	g.returns(g.Node(one(g, "And", "Or", "Xor"), []string{p, q}), onnx.Bool)
	g.returns(g.Node("Not", []string{p}), onnx.Bool)
	g.f("Where", []string{p, g.x(shape...), g.w(g.narrowTo(shape)...)})
}

func reduce(g *graph) {
	shape := g.dims(g.n(1, 4), 6)
	x := g.x(shape...)
	for _, op := range []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"} {
		in := []string{x}
		if g.n(0, 4) > 0 {
			var axes []int64
			for a := range shape {
				if g.coin() {
					axes = append(axes, int64(a-len(shape)*g.n(0, 1)))
				}
			}
			if len(axes) > 0 {
				in = append(in, g.List(axes...))
			}
		}
		g.f(op, in, onnxtest.Int("keepdims", int64(g.n(0, 1))))
	}
}

func argmax(g *graph) {
	x := g.x(g.dims(3, 6)...)
	for _, op := range []string{"ArgMax", "ArgMin"} {
		g.returns(g.Node(op, []string{x}, onnxtest.Int("axis", int64(g.n(-3, 2))), onnxtest.Int("keepdims", int64(g.n(0, 1)))), onnx.Int64)
	}
}

func cumsum(g *graph) {
	x := g.x(g.dims(3, 6)...)
	g.f("CumSum", []string{x, g.Ints(nil, int64(g.n(-3, 2)))}, onnxtest.Int("exclusive", int64(g.n(0, 1))), onnxtest.Int("reverse", int64(g.n(0, 1))))
}

func topk(g *graph) {
	shape := g.dims(3, 6)
	a := g.n(0, 2)
	g.Named([]string{"v", "i"}, "TopK", []string{g.x(shape...), g.List(int64(g.n(1, shape[a])))}, onnxtest.Int("axis", int64(a)), onnxtest.Int("largest", int64(g.n(0, 1))))
	g.returns("v", onnx.Float)
	g.returns("i", onnx.Int64)
}

func transpose(g *graph) {
	shape := g.dims(g.n(2, 5), 4)
	x := g.x(shape...)
	y := g.Node("Transpose", []string{x}, onnxtest.IntList("perm", list64(g.r.Perm(len(shape)))...))
	g.returns(y, onnx.Float)
	g.f("Reshape", []string{y, g.List(0, -1)})
	g.f("Flatten", []string{y}, onnxtest.Int("axis", int64(g.n(0, len(shape)))))
	g.f("Unsqueeze", []string{y, g.List(0, -1)})
}

func slice(g *graph) {
	shape := g.dims(3, 8)
	var from, to, step []int64
	for range shape {
		s := int64(one(g, 1, 1, 2, -1, -2))
		a, b := int64(g.n(-3, 3)), int64(g.n(3, 12))
		if s < 0 {
			a, b = b, int64(-g.n(1, 12))
		}
		from, to, step = append(from, a), append(to, b), append(step, s)
	}
	g.f("Slice", []string{g.x(shape...), g.List(from...), g.List(to...), g.List(0, 1, 2), g.List(step...)})
}

func gather(g *graph) {
	shape := g.dims(3, 5)
	a := g.n(0, 2)
	x := g.x(shape...)
	g.f("Gather", []string{x, g.i(onnx.Int64, -shape[a], shape[a]-1, g.dims(2, 3)...)}, onnxtest.Int("axis", int64(a)))
	at := append([]int{}, shape...)
	at[a] = g.n(1, 4)
	g.f("GatherElements", []string{x, g.i(onnx.Int64, -shape[a], shape[a]-1, at...)}, onnxtest.Int("axis", int64(a)))
	g.f("GatherND", []string{x, g.i(onnx.Int64, -1, 0, g.n(1, 4), g.n(1, 3))})
}

func scatter(g *graph) {
	shape := []int{g.n(4, 8), g.n(1, 5)}
	x := g.x(shape...)
	rows := g.r.Perm(shape[0])[:g.n(1, 4)]
	idx := g.Ints([]int{len(rows), 1}, list64(rows)...)
	g.f("ScatterND", []string{x, idx, g.w(len(rows), shape[1])}, onnxtest.Text("reduction", one(g, "none", "add", "mul")))
	v := make([]int64, len(rows)*shape[1])
	for i := range v {
		v[i] = int64(rows[i/shape[1]])
	}
	g.f("ScatterElements", []string{x, g.Ints([]int{len(rows), shape[1]}, v...), g.w(len(rows), shape[1])}, onnxtest.Int("axis", 0), onnxtest.Text("reduction", one(g, "none", "add", "max")))
}

func concat(g *graph) {
	shape := g.dims(3, 4)
	a := g.n(0, 2)
	var in []string
	for range g.n(1, 4) {
		s := append([]int{}, shape...)
		s[a] = g.n(1, 4)
		in = append(in, g.x(s...))
	}
	g.f("Concat", in, onnxtest.Int("axis", int64(a-3*g.n(0, 1))))
	g.f("Tile", []string{in[0], g.List(int64(g.n(1, 3)), 1, int64(g.n(1, 3)))})
	g.f("Trilu", []string{in[0], g.Ints(nil, int64(g.n(-2, 2)))}, onnxtest.Int("upper", int64(g.n(0, 1))))
}

func pad(g *graph) {
	shape := g.dims(3, 5)
	mode := one(g, "constant", "edge", "reflect")
	var pads []int64
	for i := range 6 {
		most := 3
		if mode == "reflect" {
			most = shape[i%3] - 1
		}
		pads = append(pads, int64(g.n(0, most)))
	}
	in := []string{g.x(shape...), g.List(pads...)}
	if mode == "constant" {
		in = append(in, g.Floats(nil, 1.5))
	}
	g.f("Pad", in, onnxtest.Text("mode", mode))
}

func expand(g *graph) {
	shape := g.dims(4, 4)
	g.f("Expand", []string{g.x(g.narrowTo(shape)...), g.List(list64(shape)...)})
	g.returns(g.Node("NonZero", []string{g.i(onnx.Int64, 0, 1, 3, 5)}), onnx.Int64)
}

func splits(g *graph) {
	n := g.n(4, 9)
	k := g.n(1, n-1)
	g.Named([]string{"s0", "s1"}, "Split", []string{g.x(3, n, 2), g.List(int64(k), int64(n-k))}, onnxtest.Int("axis", 1))
	g.returns("s0", onnx.Float)
	g.returns("s1", onnx.Float)
}

func blocks(g *graph) {
	b := g.n(1, 3)
	x := g.x(g.n(1, 2), g.n(1, 3)*b*b, g.n(1, 3)*b, g.n(1, 3)*b)
	g.f("DepthToSpace", []string{x}, onnxtest.Int("blocksize", int64(b)), onnxtest.Text("mode", one(g, "DCR", "CRD")))
	g.f("SpaceToDepth", []string{x}, onnxtest.Int("blocksize", int64(b)))
}

func oneHot(g *graph) {
	g.f("OneHot", []string{g.i(onnx.Int64, -5, 4, g.dims(2, 4)...), g.Ints(nil, 5), g.Floats([]int{2}, -1, 2)}, onnxtest.Int("axis", int64(g.n(-1, 2))))
}

func matMul(g *graph) {
	m, k, n := g.n(1, 40), g.n(1, 70), g.n(1, 70)
	batch := g.dims(g.n(0, 2), 3)
	a, b := append(append([]int{}, batch...), m, k), append(append([]int{}, batch...), k, n)
	for i := range batch {
		switch g.n(0, 3) {
		case 0:
			a[i] = 1
		case 1:
			b[i] = 1
		}
	}
	if g.coin() {
		b = b[g.n(0, len(batch)):]
	}
	right := g.x
	if g.coin() {
		right = g.w
	}
	g.f("MatMul", []string{g.x(a...), right(b...)})
}

func gemm(g *graph) {
	m, k, n := g.n(1, 30), g.n(1, 40), g.n(1, 40)
	a, b := []int{m, k}, []int{k, n}
	ta, tb := g.n(0, 1), g.n(0, 1)
	if ta == 1 {
		a = []int{k, m}
	}
	if tb == 1 {
		b = []int{n, k}
	}
	alpha, beta := one(g, float32(1), 0.5), one(g, float32(1), 0.25)
	in := []string{g.x(a...), g.w(b...)}
	if g.n(0, 3) > 0 {
		in = append(in, g.w(one(g, []int{n}, []int{1}, []int{m, 1}, []int{m, n}, []int{1, n})...))
	}
	g.f("Gemm", in, onnxtest.Int("transA", int64(ta)), onnxtest.Int("transB", int64(tb)), onnxtest.Float("alpha", alpha), onnxtest.Float("beta", beta))
}

func einsum(g *graph) {
	b, i, j, k := g.n(1, 4), g.n(1, 6), g.n(1, 6), g.n(1, 6)
	switch g.n(0, 3) {
	case 0:
		g.f("Einsum", []string{g.x(b, i, j), g.x(b, j, k)}, onnxtest.Text("equation", "bij,bjk->bik"))
	case 1:
		g.f("Einsum", []string{g.x(i, j), g.x(k, j)}, onnxtest.Text("equation", "ij,kj->ik"))
	case 2:
		g.f("Einsum", []string{g.x(b, i, k, j), g.x(b, j, i)}, onnxtest.Text("equation", "bikj,bji->bk"))
	case 3:
		g.f("Einsum", []string{g.x(b, i, j)}, onnxtest.Text("equation", "bij->jb"))
	}
}

func fusedMatMul(g *graph) {
	m, k, n := g.n(1, 20), g.n(1, 30), g.n(1, 30)
	a, b := []int{2, m, k}, []int{2, k, n}
	ta, tb := g.n(0, 1), g.n(0, 1)
	if ta == 1 {
		a = []int{2, k, m}
	}
	if tb == 1 {
		b = []int{2, n, k}
	}
	g.f("com.microsoft.FusedMatMul", []string{g.x(a...), g.x(b...)}, onnxtest.Int("transA", int64(ta)), onnxtest.Int("transB", int64(tb)), onnxtest.Float("alpha", 0.7))
}

func linear(g *graph) {
	k, n := g.n(1, 70), g.n(1, 70)
	y := g.Node("MatMul", []string{g.x(g.n(1, 3), g.n(1, 20), k), g.w(k, n)})
	in := []string{g.w(n), y}
	if g.coin() {
		in[0], in[1] = in[1], in[0]
	}
	g.f("Add", in)
}

func conv(g *graph) {
	rank := g.n(1, 2)
	group := one(g, 1, 1, 2, 3)
	in, out := group*g.n(1, 4), group*g.n(1, 5)
	var x, w, pads, strides, dilations []int
	for range rank {
		k, d := g.n(1, 4), g.n(1, 2)
		w, dilations, strides = append(w, k), append(dilations, d), append(strides, g.n(1, 2))
		x = append(x, (k-1)*d+g.n(1, 8))
	}
	for range 2 * rank {
		pads = append(pads, g.n(0, 2))
	}
	args := []string{g.x(append([]int{g.n(1, 2), in}, x...)...), g.w(append([]int{out, in / group}, w...)...)}
	if g.coin() {
		args = append(args, g.w(out))
	}
	g.f("Conv", args, onnxtest.Int("group", int64(group)), onnxtest.IntList("pads", list64(pads)...),
		onnxtest.IntList("strides", list64(strides)...), onnxtest.IntList("dilations", list64(dilations)...))
}

func convTranspose(g *graph) {
	group := one(g, 1, 2)
	in, out := group*g.n(1, 3), g.n(1, 3)
	stride := g.n(1, 3)
	g.f("ConvTranspose", []string{g.x(1, in, g.n(3, 6), g.n(3, 6)), g.w(in, out, 3, 3), g.w(out * group)}, onnxtest.Int("group", int64(group)),
		onnxtest.IntList("strides", int64(stride), int64(stride)), onnxtest.IntList("pads", 1, 0, 1, 0), onnxtest.IntList("output_padding", int64(g.n(0, stride-1)), 0))
}

func pool(g *graph) {
	x := g.x(g.n(1, 2), g.n(1, 4), g.n(5, 9), g.n(5, 9))
	attrs := []*onnx.Attr{
		onnxtest.IntList("kernel_shape", int64(g.n(2, 3)), int64(g.n(2, 3))), onnxtest.IntList("strides", int64(g.n(1, 2)), int64(g.n(1, 2))),
		onnxtest.IntList("pads", 1, 0, 1, 1), onnxtest.Int("ceil_mode", int64(g.n(0, 1))),
	}
	g.f("MaxPool", []string{x}, attrs...)
	g.f("AveragePool", []string{x}, append(attrs[:3:3], onnxtest.Int("count_include_pad", int64(g.n(0, 1))))...)
	g.f("GlobalAveragePool", []string{x})
	g.f("GlobalMaxPool", []string{x})
}

func batchNorm(g *graph) {
	c := g.n(1, 5)
	x := g.x(2, c, g.n(1, 5), g.n(1, 5))
	g.f("BatchNormalization", []string{x, g.w(c), g.w(c), g.w(c), g.scales(c)})
	g.f("LRN", []string{x}, onnxtest.Int("size", 3))
}

func resize(g *graph) {
	x := g.x(1, 2, 2*g.n(1, 3), 2*g.n(1, 3)) // see anyResize: other lengths, by a half
	g.f("Resize", []string{x, "", g.Floats([]int{4}, 1, 1, one(g, float32(2), 1.5, 3), one(g, float32(2), 0.5))},
		onnxtest.Text("mode", one(g, "nearest", "linear")), onnxtest.Text("coordinate_transformation_mode", one(g, "half_pixel", "asymmetric", "align_corners")))
}

func softmax(g *graph) {
	x := g.x(g.dims(3, 20)...)
	g.f("Softmax", []string{x}, onnxtest.Int("axis", int64(g.n(-3, 2))))
	g.f("LogSoftmax", []string{x}, onnxtest.Int("axis", int64(g.n(-3, 2))))
}

func layerNorm(g *graph) {
	shape := g.dims(3, 30)
	a := g.n(1, 2)
	in := []string{g.x(shape...), g.w(shape[a:]...)}
	if g.coin() {
		in = append(in, g.w(shape[a:]...))
	}
	g.f("LayerNormalization", in, onnxtest.Int("axis", int64(a-3*g.n(0, 1))), onnxtest.Float("epsilon", 1e-3))
	g.f("SimplifiedLayerNormalization", []string{in[0], g.w(shape[2])}, onnxtest.Int("axis", -1))
	g.f("LpNormalization", []string{in[0]}, onnxtest.Int("axis", int64(g.n(0, 2))), onnxtest.Int("p", int64(g.n(1, 2))))
}

// decomposedNorm is LayerNorm as exporters write it, perhaps of a sum.
func decomposedNorm(g *graph) {
	n := g.n(1, 40)
	x := g.x(g.n(1, 3), g.n(1, 5), n)
	if g.coin() {
		x = g.Node("Add", []string{x, g.x(g.n(1, 1), 1, n)})
	}
	axes := onnxtest.IntList("axes", int64(one(g, -1, 2)))
	d := g.Node("Sub", []string{x, g.Node("ReduceMean", []string{x}, axes)})
	v := g.Node("ReduceMean", []string{g.Node("Pow", []string{d, g.Floats(nil, 2)})}, axes)
	y := g.Node("Div", []string{d, g.Node("Sqrt", []string{g.Node("Add", []string{v, g.Floats(nil, 1e-5)})})})
	y = g.Node("Add", []string{g.Node("Mul", []string{y, g.w(n)}), g.w(n)})
	g.returns(y, onnx.Float)
	if g.coin() {
		g.returns(x, onnx.Float)
	}
}

func skipNorm(g *graph) {
	shape := []int{g.n(1, 3), g.n(1, 6), g.n(1, 40)}
	n := shape[2]
	x, skip := g.x(shape...), g.x(shape...)
	g.Named([]string{"y", "", "", "sum"}, "com.microsoft.SkipLayerNormalization", []string{x, skip, g.w(n), g.w(n), g.w(n)})
	g.returns("y", onnx.Float)
	g.returns("sum", onnx.Float)
	g.f("com.microsoft.SkipSimplifiedLayerNormalization", []string{x, skip, g.w(n)})
}

func instanceNorm(g *graph) {
	c := g.n(1, 5)
	x := g.x(g.n(1, 3), c, g.n(2, 6), g.n(2, 6))
	g.f("InstanceNormalization", []string{x, g.w(c), g.w(c)})
	g.f("MeanVarianceNormalization", []string{x})
}
