package fuse

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quern/engine/onnx/internal/ops"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/threads"
)

// A fuseCase is a graph that exporters write for something that is one step.
type fuseCase struct {
	name  string
	steps []string // that are expected, without numbers
	build func(b *onnxtest.Builder, x string) string
}

func weights(b *onnxtest.Builder, shape ...int) string {
	r := rand.New(rand.NewPCG(1, uint64(len(b.Model.Graph.Initializers))))
	v := make([]float32, tensor.Count(shape))
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return b.Floats(shape, v...)
}

func float(b *onnxtest.Builder, v float32) string { return b.Floats(nil, v) }

func writtenBatchNorm(b *onnxtest.Builder, x string, channels int) string {
	return b.Node("BatchNormalization", []string{x, weights(b, channels), weights(b, channels), weights(b, channels), b.Node("Abs", []string{weights(b, channels)})})
}

// fuseCases all take x (2, 3, 16).
var fuseCases = []fuseCase{
	{"layer norm", []string{"norm"}, func(b *onnxtest.Builder, x string) string {
		return writtenNorm(b, x)
	}},
	{"norm of a sum", []string{"norm"}, func(b *onnxtest.Builder, x string) string {
		return writtenNorm(b, b.Node("Add", []string{x, b.Node("Neg", []string{b.Node("Tanh", []string{x})})}))
	}},
	{"norm of a sum that is read again", []string{"norm"}, func(b *onnxtest.Builder, x string) string {
		sum := b.Node("Add", []string{x, b.Node("Tanh", []string{x})})
		return b.Node("Sub", []string{writtenNorm(b, sum), sum})
	}},
	{"root mean square norm", []string{"norm"}, func(b *onnxtest.Builder, x string) string {
		v := b.Node("ReduceMean", []string{b.Node("Pow", []string{x, float(b, 2)})}, onnxtest.IntList("axes", -1))
		r := b.Node("Div", []string{float(b, 1), b.Node("Sqrt", []string{b.Node("Add", []string{v, float(b, 1e-6)})})})
		return b.Node("Mul", []string{weights(b, 16), b.Node("Mul", []string{x, r})})
	}},
	{"GELU by erf", []string{"gelu"}, func(b *onnxtest.Builder, x string) string { return writtenGelu(b, x) }},
	{"GELU by tanh", []string{"gelu"}, func(b *onnxtest.Builder, x string) string {
		cube := b.Node("Mul", []string{float(b, 0.044715), b.Node("Pow", []string{x, float(b, 3)})})
		y := b.Node("Tanh", []string{b.Node("Mul", []string{float(b, 0.7978845608), b.Node("Add", []string{x, cube})})})
		return b.Node("Mul", []string{b.Node("Mul", []string{x, float(b, 0.5)}), b.Node("Add", []string{y, float(b, 1)})})
	}},
	{"linear", []string{"layer"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Add", []string{weights(b, 5), b.Node("MatMul", []string{x, weights(b, 16, 5)})})
	}},
	{"linear and GELU", []string{"layer"}, func(b *onnxtest.Builder, x string) string {
		return writtenGelu(b, b.Node("Add", []string{weights(b, 5), b.Node("MatMul", []string{x, weights(b, 16, 5)})}))
	}},
	{"int8 linear", []string{"layer"}, func(b *onnxtest.Builder, x string) string { return writtenInt8(b, x, "x", 16, 5) }},
	{"int8 linear, GELU and again", []string{"quantized layer", "layer"}, func(b *onnxtest.Builder, x string) string {
		return writtenInt8(b, writtenGelu(b, writtenInt8(b, x, "x", 16, 20)), "y", 20, 3)
	}},
	{"a sum, its norm, both read, and int8 linear", []string{"quantized norm", "layer", "norm"}, func(b *onnxtest.Builder, x string) string {
		sum := b.Node("Add", []string{b.Node("Tanh", []string{x}), x})
		y := writtenNorm(b, sum)
		return writtenNorm(b, b.Node("Add", []string{b.Node("Add", []string{writtenInt8(b, y, "x", 16, 16), y}), sum}))
	}},
	{"int8 convolution", []string{"convolution of bytes"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Add", []string{writtenConv(b, x, 5, 3, 1), weights(b, 1, 5, 1)})
	}},
	{"int8 convolution of each channel, its bias first and of fewer ranks", []string{"convolution of bytes"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Add", []string{weights(b, 3, 1), writtenConv(b, x, 3, 1, 3)})
	}},
	{"int8 convolution without bias", []string{"convolution of bytes"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Tanh", []string{writtenConv(b, x, 5, 3, 1)})
	}},
	{"int8 convolution with a bias of steps", []string{"convolution of bytes"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Add", []string{writtenConv(b, x, 5, 3, 1), weights(b, 16)})
	}},
	{"convolution and ReLU", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Relu", []string{b.Node("Conv", []string{x, weights(b, 5, 3, 3), weights(b, 5)}, onnxtest.IntList("pads", 1, 1))})
	}},
	{"convolution, batch norm and ReLU", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Relu", []string{writtenBatchNorm(b, b.Node("Conv", []string{x, weights(b, 5, 3, 2), weights(b, 5)}, onnxtest.IntList("dilations", 3)), 5)})
	}},
	{"convolution of each channel and batch norm", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		return writtenBatchNorm(b, b.Node("Conv", []string{x, weights(b, 3, 1, 5)}, onnxtest.Int("group", 3), onnxtest.IntList("strides", 2)), 3)
	}},
	{"batch norm and ReLU", []string{"norm of planes"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Relu", []string{writtenBatchNorm(b, x, 3)})
	}},
	{"batch norm and ReLU of a convolution that is read again", []string{"norm of planes"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("Conv", []string{x, weights(b, 3, 3, 1)})
		return b.Node("Sub", []string{b.Node("Relu", []string{writtenBatchNorm(b, y, 3)}), y})
	}},
	{"convolution and its magnitudes", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Abs", []string{b.Node("Conv", []string{x, weights(b, 5, 3, 9)}, onnxtest.IntList("strides", 2))})
	}},
	{"convolution of points of a batch norm and ReLU", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("Relu", []string{writtenBatchNorm(b, x, 3)})
		return b.Node("Tanh", []string{b.Node("Conv", []string{y, weights(b, 5, 3, 1), weights(b, 5)})})
	}},
	{"batch norms before and behind a convolution of points in groups", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("Conv", []string{b.Node("Relu", []string{writtenBatchNorm(b, x, 3)}), weights(b, 6, 1, 1)}, onnxtest.Int("group", 3))
		return b.Node("Relu", []string{writtenBatchNorm(b, y, 6)})
	}},
	{"convolution of three taps of a batch norm and ReLU", []string{"norm of planes"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("Relu", []string{writtenBatchNorm(b, x, 3)})
		return b.Node("Tanh", []string{b.Node("Conv", []string{y, weights(b, 5, 3, 3)}, onnxtest.IntList("pads", 1, 1))})
	}},
	{"convolution, a sum and ReLU", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("Conv", []string{x, weights(b, 3, 3, 3), weights(b, 3)}, onnxtest.IntList("pads", 1, 1))
		return b.Node("Relu", []string{b.Node("Add", []string{x, writtenBatchNorm(b, y, 3)})})
	}},
	{"a sum of two convolutions and ReLU", []string{"convolution"}, func(b *onnxtest.Builder, x string) string {
		y, z := b.Node("Conv", []string{x, weights(b, 4, 3, 1), weights(b, 4)}), b.Node("Conv", []string{x, weights(b, 4, 3, 1)})
		return b.Node("Relu", []string{b.Node("Add", []string{y, z})})
	}},
	{"instance norm and leaky ReLU", []string{"norm of planes"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("InstanceNormalization", []string{x, weights(b, 3), weights(b, 3)}, onnxtest.Float("epsilon", 1e-3))
		return b.Node("LeakyRelu", []string{y}, onnxtest.Float("alpha", 0.2))
	}},
	{"softmax of a sum of which some is hidden", []string{"hidden softmax"}, func(b *onnxtest.Builder, x string) string {
		hide := b.Node("Less", []string{weights(b, 2, 1, 16), float(b, 0.3)})
		y := b.Node("Div", []string{b.Node("Add", []string{x, weights(b, 2, 3, 16)}), float(b, 3)})
		y = b.Node("Softmax", []string{b.Node("Where", []string{hide, float(b, -1e4), y})}, onnxtest.Int("axis", -1))
		return b.Node("Where", []string{hide, float(b, 0), y})
	}},
	{"softmax of which whole rows are hidden", []string{"hidden softmax"}, func(b *onnxtest.Builder, x string) string {
		hide := b.Node("Less", []string{weights(b, 3, 1), float(b, 0)})
		y := b.Node("Softmax", []string{b.Node("Where", []string{hide, float(b, -1e4), x})}, onnxtest.Int("axis", 2))
		return b.Node("Where", []string{hide, float(b, 0), y})
	}},
	{"product of places", []string{"excerpt"}, func(b *onnxtest.Builder, x string) string { return b.Node("Add", []string{x, writtenPlaces(b, x, 16)}) }},
	{"scores by distance", []string{"shift"}, func(b *onnxtest.Builder, x string) string { return writtenShift(b, x, 5, 3) }},
	{"swish", []string{"swish"}, func(b *onnxtest.Builder, x string) string {
		return b.Node("Mul", []string{b.Node("Sigmoid", []string{x}), x})
	}},
	{"product and swish", []string{"layer"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("MatMul", []string{x, weights(b, 16, 70)})
		return b.Node("Mul", []string{y, b.Node("Sigmoid", []string{y})})
	}},
	{"attention", []string{"attention"}, func(b *onnxtest.Builder, x string) string {
		head := func(perm ...int64) string {
			y := b.Node("Reshape", []string{b.Node("Mul", []string{x, weights(b, 16)}), b.List(0, 0, 4, 4)})
			return b.Node("Transpose", []string{y}, onnxtest.IntList("perm", perm...))
		}
		scores := b.Node("Div", []string{b.Node("MatMul", []string{head(0, 2, 1, 3), head(0, 2, 3, 1)}), float(b, 2)})
		scores = b.Node("Add", []string{scores, weights(b, 2, 1, 1, 3)})
		y := b.Node("MatMul", []string{b.Node("Softmax", []string{scores}, onnxtest.Int("axis", -1)), head(0, 2, 1, 3)})
		return b.Node("Transpose", []string{y}, onnxtest.IntList("perm", 0, 2, 1, 3))
	}},
	{"attention with parts scaled by the shape", []string{"attention"}, func(b *onnxtest.Builder, x string) string {
		q := b.Node("Transpose", []string{b.Node("Reshape", []string{x, b.List(0, 0, 4, 4)})}, onnxtest.IntList("perm", 0, 2, 1, 3))
		size := b.Node("Slice", []string{b.Node("Shape", []string{q}), b.List(-1), b.List(math.MaxInt64)})
		scale := b.Node("Cast", []string{size}, onnxtest.Int("to", int64(onnx.Float)))
		scale = b.Node("Sqrt", []string{b.Node("Div", []string{float(b, 1), b.Node("Sqrt", []string{scale})})})
		k := b.Node("Transpose", []string{b.Node("Tanh", []string{q})}, onnxtest.IntList("perm", 0, 1, 3, 2))
		scores := b.Node("MatMul", []string{b.Node("Mul", []string{q, scale}), b.Node("Mul", []string{k, scale})})
		return b.Node("MatMul", []string{b.Node("Softmax", []string{scores}, onnxtest.Int("axis", -1)), b.Node("Neg", []string{q})})
	}},
	{"attention of rank 3 with casts", []string{"attention"}, func(b *onnxtest.Builder, x string) string {
		cast := func(y string) string {
			return b.Node("Cast", []string{y}, onnxtest.Int("to", int64(onnx.Float)))
		}
		q := b.Node("Div", []string{b.Node("Tanh", []string{x}), float(b, 4)})
		k := b.Node("Transpose", []string{b.Node("Neg", []string{x})}, onnxtest.IntList("perm", 0, 2, 1))
		scores := b.Node("Add", []string{b.Node("MatMul", []string{q, k}), weights(b, 1, 3, 3)})
		return b.Node("MatMul", []string{cast(b.Node("Softmax", []string{cast(scores)}, onnxtest.Int("axis", 2))), x})
	}},
	{"attention with rows first", []string{"attention"}, func(b *onnxtest.Builder, x string) string {
		turn := func(op string, perm ...int64) string {
			return b.Node("Transpose", []string{b.Node(op, []string{x})}, onnxtest.IntList("perm", perm...))
		}
		q := b.Node("Mul", []string{turn("Tanh", 1, 0, 2), float(b, 0.25)})
		scores := b.Node("MatMul", []string{q, turn("Neg", 1, 2, 0)})
		return b.Node("MatMul", []string{b.Node("Softmax", []string{scores}, onnxtest.Int("axis", -1)), turn("Sigmoid", 1, 0, 2)})
	}},
	{"a GELU with another factor", nil, func(b *onnxtest.Builder, x string) string {
		y := b.Node("Erf", []string{b.Node("Div", []string{x, float(b, 1.5)})})
		return b.Node("Mul", []string{b.Node("Mul", []string{x, b.Node("Add", []string{y, float(b, 1)})}), float(b, 0.5)})
	}},
	{"two layers", []string{"layer", "layer"}, func(b *onnxtest.Builder, x string) string {
		y := b.Node("MatMul", []string{x, weights(b, 16, 5)})
		return b.Node("Mul", []string{b.Node("Add", []string{y, weights(b, 5)}), b.Node("Add", []string{weights(b, 5), b.Node("MatMul", []string{x, weights(b, 16, 5)})})})
	}},
	{"a product that is read twice", nil, func(b *onnxtest.Builder, x string) string {
		y := b.Node("MatMul", []string{x, weights(b, 16, 5)})
		return b.Node("Mul", []string{b.Node("Add", []string{y, weights(b, 5)}), y})
	}},
}

// writtenConv is a convolution of x, (2, 3, 16), by filters of three taps.
func writtenConv(b *onnxtest.Builder, x string, out, in int, groups int64) string {
	q := []string{"cq", "cs", "cz"}
	b.Named(q, "DynamicQuantizeLinear", []string{x})
	w := &onnx.Tensor{Type: onnx.Uint8, Shape: []int{out, in, 3}}
	for i := range out * in * 3 {
		w.Data = append(w.Data, byte(i*37+11))
	}
	zero := b.Weight(&onnx.Tensor{Type: onnx.Uint8, Shape: []int{}, Data: []byte{120}})
	y := b.Node("ConvInteger", []string{q[0], b.Weight(w), q[2], zero}, onnxtest.IntList("kernel_shape", 3), onnxtest.IntList("pads", 1, 1), onnxtest.Int("group", groups))
	y = b.Node("Cast", []string{y}, onnxtest.Int("to", int64(onnx.Float)))
	return b.Node("Mul", []string{y, b.Node("Mul", []string{q[1], b.Floats([]int{1}, 0.01)})})
}

func writtenNorm(b *onnxtest.Builder, x string, axis ...int64) string {
	if axis == nil {
		axis = []int64{-1}
	}
	axes := onnxtest.IntList("axes", axis...)
	d := b.Node("Sub", []string{x, b.Node("ReduceMean", []string{x}, axes)})
	v := b.Node("ReduceMean", []string{b.Node("Pow", []string{d, float(b, 2)})}, axes)
	y := b.Node("Div", []string{d, b.Node("Sqrt", []string{b.Node("Add", []string{v, float(b, 1e-5)})})})
	return b.Node("Add", []string{b.Node("Mul", []string{y, weights(b, 16)}), weights(b, 16)})
}

func writtenGelu(b *onnxtest.Builder, x string) string {
	y := b.Node("Erf", []string{b.Node("Mul", []string{x, float(b, math.Sqrt2/2)})})
	return b.Node("Mul", []string{float(b, 0.5), b.Node("Mul", []string{x, b.Node("Add", []string{y, float(b, 1)})})})
}

func writtenInt8(b *onnxtest.Builder, x, stem string, k, n int) string {
	q := []string{stem + "_q", stem + "_s", stem + "_z"}
	b.Named(q, "DynamicQuantizeLinear", []string{x})
	w := &onnx.Tensor{Type: onnx.Int8, Shape: []int{k, n}, Data: make([]byte, k*n)}
	for i := range w.Data {
		w.Data[i] = byte(i * 37)
	}
	y := b.Node("MatMulInteger", []string{q[0], b.Weight(w), q[2], b.Weight(&onnx.Tensor{Type: onnx.Int8, Data: []byte{3}})})
	y = b.Node("Cast", []string{y}, onnxtest.Int("to", int64(onnx.Float)))
	y = b.Node("Mul", []string{y, b.Node("Mul", []string{q[1], b.Floats([]int{1}, 0.01)})})
	return b.Node("Add", []string{weights(b, n), y})
}

// run builds a case, with constants of float16 if halves, and returns its result and the steps.
func (f *fuseCase) run(t *testing.T, plain, halves bool) (*tensor.Tensor, []string) {
	t.Helper()
	b := onnxtest.New(14)
	b.Half = halves
	b.Named([]string{"y"}, "Identity", []string{f.build(b, b.Input("x", onnx.Float, "a", "b", "c"))})
	b.Model.Graph.Outputs = append(b.Model.Graph.Outputs, onnx.Value{Name: "y", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}})
	p := threads.NewPool(2)
	defer p.Close()
	var steps []string
	s, err := run.New(&b.Model, run.Options{Pool: p, NoFusion: plain}, run.Operators{Table: ops.Table(), Fuse: func(s *run.Session, b *run.Body) {
		Body(s, b)
		for _, n := range b.Nodes {
			if n.Domain == "quern" {
				steps = append(steps, n.Op[:strings.LastIndexByte(n.Op, ' ')])
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	in := tensor.New(onnx.Float, 2, 3, 16)
	for i := range in.F {
		in.F[i] = float32(r.NormFloat64())
	}
	var out map[string]*tensor.Tensor
	for range 2 { // the second run works in the memory of the first
		if out, err = s.Run(context.Background(), map[string]*tensor.Tensor{"x": in}); err != nil {
			t.Fatal(err)
		}
	}
	return out["y"], steps
}

func near5(t *testing.T, got, want *tensor.Tensor) {
	t.Helper()
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		t.Fatalf("got %v of shape %d, want %v of %d", got.Type, got.Shape, want.Type, want.Shape)
	}
	for i := range want.Len() {
		if d := math.Abs(got.At(i) - want.At(i)); !(d <= 1e-5*(1+math.Abs(want.At(i)))) {
			t.Fatalf("element %d: got %g, want %g", i, got.At(i), want.At(i))
		}
	}
}

func TestFuse(t *testing.T) {
	for _, f := range fuseCases {
		t.Run(f.name, func(t *testing.T) {
			want, none := f.run(t, true, false)
			got, steps := f.run(t, false, false)
			if len(none) != 0 || !slices.Equal(steps, f.steps) {
				t.Errorf("got steps %q and without fusion %q, want %q", steps, none, f.steps)
			}
			near5(t, got, want)
			if _, steps := f.run(t, false, true); !slices.Equal(steps, f.steps) {
				t.Errorf("of float16: got steps %q, want %q", steps, f.steps)
			}
		})
	}
}

// writtenPlaces is a product of as many of 31 rows as x has beside each other, in both
// directions, summed.
func writtenPlaces(b *onnxtest.Builder, x string, n int) string {
	rows := b.Node("Slice", []string{b.Node("Shape", []string{x}), b.List(1), b.List(2)})
	places := b.Node("Slice", []string{weights(b, 1, 31, 16), b.Node("Sub", []string{b.List(16), rows}), b.Node("Add", []string{b.List(15), rows}), b.List(1), b.List(1)})
	return b.Node("ReduceSum", []string{b.Node("MatMul", []string{places, weights(b, 16, n)}), b.List(1)})
}

// writtenShift is the shift of x's rows by so many distances, as NeMo exports it.
func writtenShift(b *onnxtest.Builder, x string, distances, rows int) string {
	y := b.Node("MatMul", []string{b.Node("Reshape", []string{x, b.List(1, 2, 3, 16)}), weights(b, 16, distances)})
	y = b.Node("Pad", []string{y, b.List(0, 0, 0, 1, 0, 0, 0, 0)})
	y = b.Node("Slice", []string{b.Node("Reshape", []string{y, b.List(1, 2, -1, 3)}), b.List(1), b.List(math.MaxInt32), b.List(2), b.List(1)})
	y = b.Node("Reshape", []string{y, b.List(1, 2, 3, int64(distances))})
	return b.Node("Slice", []string{y, b.List(0), b.Node("Slice", []string{b.Node("Shape", []string{x}), b.List(1), b.List(2)}), b.List(3)})
}

// Rows of a constant are multiplied once, whichever runs ask for them, and more than are kept
// by themselves.
func TestExcerpt(t *testing.T) {
	session := func(plain bool) *run.Session {
		b := onnxtest.New(14)
		b.Named([]string{"y"}, "Identity", []string{writtenPlaces(b, b.Input("x", onnx.Float, "a", "b", "c"), 20)})
		b.Model.Graph.Outputs = append(b.Model.Graph.Outputs, onnx.Value{Name: "y", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}})
		p := threads.NewPool(2)
		t.Cleanup(p.Close)
		s, err := run.New(&b.Model, run.Options{Pool: p, NoFusion: plain}, run.Operators{Table: ops.Table(), Fuse: Body})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	fused, plain := session(false), session(true)
	for _, rows := range []int{3, 1, 4, 4, 8, 2, 9, 15, 8} { // 2·rows−1 of 31; 16 are kept
		in := map[string]*tensor.Tensor{"x": tensor.New(onnx.Float, 1, rows, 16)}
		got, err := fused.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := plain.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got["y"].F, want["y"].F) {
			t.Errorf("%d rows: got %v, want %v", rows, got["y"].F, want["y"].F)
		}
	}
}

// TestFuseRefuses gives steps what they are not written for: they run the nodes
// they stand for.
func TestFuseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, step string
		build      func(b *onnxtest.Builder, x string) string
	}{
		{"a norm of another axis", "norm", func(b *onnxtest.Builder, x string) string {
			return b.Node("Transpose", []string{writtenNorm(b, b.Node("Expand", []string{x, b.List(1, 1, 1)}), 1)}, onnxtest.IntList("perm", 1, 0, 2))
		}},
		{"attention of rank 3", "attention", func(b *onnxtest.Builder, x string) string {
			k := b.Node("Transpose", []string{b.Node("Reshape", []string{x, b.List(1, 2, 3, 16)})}, onnxtest.IntList("perm", 0, 1, 3, 2))
			q := b.Node("Tanh", []string{x})
			return b.Node("MatMul", []string{b.Node("Softmax", []string{b.Node("MatMul", []string{q, k})}, onnxtest.Int("axis", -1)), x})
		}},
		{"a convolution plus a vector", "convolution", func(b *onnxtest.Builder, x string) string {
			y := b.Node("Conv", []string{x, weights(b, 3, 3, 1)})
			return b.Node("Relu", []string{b.Node("Add", []string{weights(b, 16), y})})
		}},
		{"a padded convolution of points", "convolution", func(b *onnxtest.Builder, x string) string {
			y := b.Node("Relu", []string{writtenBatchNorm(b, x, 3)})
			return b.Node("Tanh", []string{b.Node("Conv", []string{y, weights(b, 5, 3, 1)}, onnxtest.IntList("pads", 2, 1))})
		}},
		{"a hidden softmax of a sum that broadcasts", "hidden softmax", func(b *onnxtest.Builder, x string) string {
			hide := b.Node("Less", []string{weights(b, 16), float(b, 0)})
			y := b.Node("Add", []string{x, weights(b, 3, 1)})
			y = b.Node("Softmax", []string{b.Node("Where", []string{hide, float(b, -1e4), y})}, onnxtest.Int("axis", -1))
			return b.Node("Where", []string{hide, float(b, 0), y})
		}},
		{"scores by distance of which some are beyond", "shift", func(b *onnxtest.Builder, x string) string { return writtenShift(b, x, 4, 3) }},
		{"a sum that broadcasts", "norm", func(b *onnxtest.Builder, x string) string {
			return writtenNorm(b, b.Node("Add", []string{x, b.Node("ReduceMean", []string{x}, onnxtest.IntList("axes", 1))}))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fuseCase{name: tt.name, steps: []string{tt.step}, build: tt.build}
			want, _ := f.run(t, true, false)
			got, steps := f.run(t, false, false)
			if !slices.Equal(steps, f.steps) {
				t.Errorf("got steps %q, want %q", steps, f.steps)
			}
			near5(t, got, want)
		})
	}
}
