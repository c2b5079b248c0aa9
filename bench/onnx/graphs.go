package main

import (
	"fmt"
	"math/rand/v2"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// A graph is a random model of a few nodes with inputs for it.
type graph struct {
	*onnxtest.Builder
	r     *rand.Rand
	in    map[string]*run.Tensor
	loose float64 // how far floats may be apart, by their size and the results' own
	off   int64   // how far integers may be apart
	opset int64
}

// A family is operators that are tested together: every graph is made by one of
// its functions, in turn.
type family struct {
	name  string
	opset int64
	make  []func(*graph)
}

func newGraph(f *family, i int, seed uint64) *graph {
	g := &graph{Builder: onnxtest.New(f.opset), r: rand.New(rand.NewPCG(seed, uint64(i))), in: make(map[string]*run.Tensor), loose: 1e-4, opset: f.opset}
	f.make[i%len(f.make)](g)
	return g
}

// n returns a number from low to high.
func (g *graph) n(low, high int) int { return low + g.r.IntN(high-low+1) }

// coin is true half the time.
func (g *graph) coin() bool { return g.r.IntN(2) == 0 }

func one[T any](g *graph, of ...T) T { return of[g.r.IntN(len(of))] }

// dims returns a shape of a rank, each dimension up to most.
func (g *graph) dims(rank, most int) []int {
	d := make([]int, rank)
	for i := range d {
		d[i] = g.n(1, most)
	}
	return d
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// normal returns normal numbers.
func (g *graph) normal(n int, scale float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(g.r.NormFloat64() * scale)
	}
	return v
}

// declare adds an input of a tensor's type and shape.
func (g *graph) declare(t *run.Tensor) string {
	name := fmt.Sprintf("in%d", len(g.in))
	dims := make([]any, len(t.Shape))
	for i, d := range t.Shape {
		dims[i] = d
	}
	g.Input(name, t.Type, dims...)
	g.in[name] = t
	return name
}

// x is an input of normal numbers.
func (g *graph) x(shape ...int) string {
	return g.declare(run.NewFloats(shape, g.normal(size(shape), 1)))
}

// i is an input of integers from low to high, of a type.
func (g *graph) i(t onnx.DType, low, high int, shape ...int) string {
	v := make([]int64, size(shape))
	for i := range v {
		v[i] = int64(g.n(low, high))
	}
	x, err := run.NewInts(shape, v).Convert(t)
	if err != nil {
		panic(err)
	}
	return g.declare(x)
}

// w is a constant of normal numbers.
func (g *graph) w(shape ...int) string { return g.Floats(shape, g.normal(size(shape), 1)...) }

// bytes is a constant of uint8 or int8 from low to high.
func (g *graph) bytes(t onnx.DType, low, high int, shape ...int) string {
	w := &onnx.Tensor{Type: t, Shape: shape, Data: make([]byte, size(shape))}
	for i := range w.Data {
		w.Data[i] = byte(g.n(low, high))
	}
	return g.Weight(w)
}

// scales is a constant of small positive numbers.
func (g *graph) scales(shape ...int) string {
	v := make([]float32, size(shape))
	for i := range v {
		v[i] = 0.01 + 0.02*g.r.Float32()
	}
	return g.Floats(shape, v...)
}

// returns declares an output of unknown shape.
func (g *graph) returns(value string, t onnx.DType) {
	name := fmt.Sprintf("out%d", len(g.Model.Graph.Outputs))
	g.Named([]string{name}, "Identity", []string{value})
	g.Model.Graph.Outputs = append(g.Model.Graph.Outputs, onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindTensor, Elem: t}})
}

// f returns what one node makes, of floats.
func (g *graph) f(op string, in []string, attrs ...*onnx.Attr) {
	g.returns(g.Node(op, in, attrs...), onnx.Float)
}

// list64 turns ints to int64.
func list64(v []int) []int64 {
	out := make([]int64, len(v))
	for i, d := range v {
		out[i] = int64(d)
	}
	return out
}

// narrowTo returns shape with some dimensions made 1 and some at the front left
// out, which broadcasts to it.
func (g *graph) narrowTo(shape []int) []int {
	s := append([]int{}, shape[g.n(0, len(shape)-1):]...)
	for i := range s {
		if g.r.IntN(3) == 0 {
			s[i] = 1
		}
	}
	return s
}

var families = []family{
	{"elementwise", 18, []func(*graph){unary, binary, chain, integers, compare}},
	{"reductions", 18, []func(*graph){reduce, reduce, argmax, cumsum, topk}},
	{"movement", 18, []func(*graph){transpose, slice, gather, scatter, concat, pad, expand, splits, blocks, oneHot}},
	{"products", 17, []func(*graph){matMul, gemm, einsum, fusedMatMul, linear}},
	{"conv", 17, []func(*graph){conv, conv, convTranspose, pool, batchNorm, resize}},
	{"resize", 13, []func(*graph){anyResize}},
	{"resize18", 18, []func(*graph){anyResize}},
	{"norm", 17, []func(*graph){softmax, layerNorm, decomposedNorm, skipNorm, instanceNorm}},
	{"quantised", 21, []func(*graph){quantize, dequantize, dynamicQuantize, matMulInteger, linearMatMul, dynamicLinear, integerToFloat, linearConv, nBits, convInteger}},
	{"static", 17, []func(*graph){staticLinear, staticConv, staticShared, weightsOnly}},
	{"qlinear", 17, []func(*graph){linearPair, linearEach, linearSoftmax, linearWhere, linearConcat, linearPool, lastConv, linearGemm}},
	{"contrib", 17, []func(*graph){gelus, mha, attention, groupQuery, rotary, embedNorm, decomposedGelu, decomposedAttention, gatherBlocks, quickGelu, fusedConv, fusedGemm}},
	{"learned", 17, []func(*graph){treeRegressor, treeClassifier, linearClassifier, svmClassifier, svmRegressor, linearRegressor, prepared, encoded, svmLines}},
	{"rare", 17, []func(*graph){dynamicLSTM, matMulBnb4, named, inverse, maskedMHA, quantisedEmbedNorm}},
}
