package main

import (
	"math"
	"math/rand/v2"
	"strings"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// A shape is the size of an encoder.
type shape struct {
	name                       string
	layers, hidden, heads, ffn int
}

var shapes = []shape{
	{"bert-base", 12, 768, 12, 3072},
	{"minilm", 6, 384, 12, 1536},
}

const bertVocab, bertPlaces = 2000, 512

// numbers are what models are made of: float32, float16 (but for what comes in and goes out),
// products of bytes as onnxruntime.quantization.quantize_dynamic makes them, and products of four
// bits (MatMulNBits, blocks of 32, activations that may be of bytes) with everything else of
// float32 or float16: those that transformers.js asks for; static quantisation (calibrations) and
// what ONNX Runtime's optimizer writes.
var numbers = []string{"f32", "f16", "int8", "q4", "q4f16", "qdq", "static", "O2", "O2 int8"}

// bert returns a model of random weights, node for node what PyTorch's exporter
// makes of Hugging Face's BertModel in opset 14, of one of numbers.
func bert(s shape, of string, seed uint64) []byte {
	b := &bertBuilder{Builder: onnxtest.New(14), r: rand.New(rand.NewPCG(seed, 0)), shape: s, of: of, quantized: make(map[string][3]string)}
	b.Half = strings.HasSuffix(of, "f16")
	ids := b.Input("input_ids", onnx.Int64, "batch", "sequence")
	hide := b.Input("attention_mask", onnx.Int64, "batch", "sequence")
	kinds := b.Input("token_type_ids", onnx.Int64, "batch", "sequence")

	rows := b.Node("Gather", []string{b.Node("Shape", []string{ids}), b.Ints(nil, 1)}, onnxtest.Int("axis", 0))
	places := make([]int64, bertPlaces)
	for i := range places {
		places[i] = int64(i)
	}
	place := b.Node("Slice", []string{b.Ints([]int{1, bertPlaces}, places...), b.List(0), b.Node("Unsqueeze", []string{rows, b.List(0)}), b.List(1)})
	x := b.Node("Add", []string{b.Node("Gather", []string{b.normal(bertVocab, s.hidden), ids}), b.Node("Gather", []string{b.normal(2, s.hidden), kinds})})
	x = b.Node("Add", []string{x, b.Node("Gather", []string{b.normal(bertPlaces, s.hidden), place})})
	x = b.norm(x)

	m := b.Node("Unsqueeze", []string{b.Node("Unsqueeze", []string{hide, b.List(1)}), b.List(2)})
	m = b.Node("Sub", []string{b.Floats(nil, 1), b.Cast(m, b.FloatType())})
	lowest := float32(-math.MaxFloat32)
	if b.Half {
		lowest = -65504
	}
	b.mask = b.Node("Mul", []string{m, b.Floats(nil, lowest)})
	for range s.layers {
		x = b.norm(b.Node("Add", []string{b.attention(x), x}))
		y := b.gelu(b.linear(x, s.hidden, s.ffn))
		x = b.norm(b.Node("Add", []string{b.linear(y, s.ffn, s.hidden), x}))
	}
	if b.Half {
		x = b.Cast(x, onnx.Float)
	}
	b.Output("last_hidden_state", x, onnx.Float, "batch", "sequence", s.hidden)
	return b.Bytes()
}

type bertBuilder struct {
	*onnxtest.Builder
	r         *rand.Rand
	shape     shape
	of        string // one of numbers
	mask      string
	quantized map[string][3]string // by value: as uint8, scale, zero point
}

func (b *bertBuilder) normal(shape ...int) string {
	return b.Filled(shape, func() float32 { return float32(b.r.NormFloat64()) * 0.04 })
}

// linear is x·W + bias.
func (b *bertBuilder) linear(x string, in, out int) string {
	switch b.of {
	case "f32", "f16":
		return b.Node("Add", []string{b.normal(out), b.Node("MatMul", []string{x, b.normal(in, out)})})
	case "q4", "q4f16":
		return b.Node("Add", []string{b.normal(out), b.bits(x, in, out)})
	}
	return b.Node("Add", []string{b.normal(out), b.integers(x, in, out)})
}

// bytes are x, its scale and its zero point, and a weight of int8.
func (b *bertBuilder) bytes(x string, in, out int) (q [3]string, weight string) {
	q, ok := b.quantized[x]
	if !ok {
		q = [3]string{x + "_quantized", x + "_scale", x + "_zero_point"}
		b.Named(q[:], "DynamicQuantizeLinear", []string{x})
		b.quantized[x] = q
	}
	w := &onnx.Tensor{Type: onnx.Int8, Shape: []int{in, out}, Data: make([]byte, in*out)}
	for i := range w.Data {
		w.Data[i] = byte(int8(max(-127, min(127, b.r.NormFloat64()*32))))
	}
	return q, b.Weight(w)
}

// integers is a product of bytes, made floats.
func (b *bertBuilder) integers(x string, in, out int) string {
	q, w := b.bytes(x, in, out)
	zero := &onnx.Tensor{Type: onnx.Int8, Data: []byte{0}}
	y := b.Cast(b.Node("MatMulInteger", []string{q[0], w, q[2], b.Weight(zero)}), onnx.Float)
	return b.Node("Mul", []string{y, b.Node("Mul", []string{q[1], b.Floats([]int{1}, 0.04/32)})})
}

// bits is a product with weights of four bits.
func (b *bertBuilder) bits(x string, in, out int) string {
	const block = 32
	w := &onnx.Tensor{Type: onnx.Uint8, Shape: []int{out, in / block, block / 2}, Data: make([]byte, in*out/2)}
	for i := range w.Data {
		w.Data[i] = byte(b.r.IntN(256))
	}
	scales := make([]float32, out*in/block)
	for i := range scales {
		scales[i] = 0.04 / 4.6 * (0.5 + b.r.Float32())
	}
	return b.Node("com.microsoft.MatMulNBits", []string{x, b.Weight(w), b.Floats([]int{len(scales)}, scales...)},
		onnxtest.Int("K", int64(in)), onnxtest.Int("N", int64(out)), onnxtest.Int("bits", 4), onnxtest.Int("block_size", block), onnxtest.Int("accuracy_level", 4))
}

func (b *bertBuilder) attention(x string) string {
	s := &b.shape
	dim := int64(s.hidden / s.heads)
	size := func(axis int64) string {
		d := b.Node("Gather", []string{b.Node("Shape", []string{x}), b.Ints(nil, axis)}, onnxtest.Int("axis", 0))
		return b.Node("Unsqueeze", []string{d, b.List(0)})
	}
	split := func(perm ...int64) string {
		y := b.linear(x, s.hidden, s.hidden)
		to := b.Node("Concat", []string{size(0), size(1), b.List(int64(s.heads)), b.List(dim)}, onnxtest.Int("axis", 0))
		return b.Node("Transpose", []string{b.Node("Reshape", []string{y, to})}, onnxtest.IntList("perm", perm...))
	}
	q, k, v := split(0, 2, 1, 3), split(0, 2, 3, 1), split(0, 2, 1, 3)
	y := b.Node("Div", []string{b.Node("MatMul", []string{q, k}), b.Floats(nil, float32(math.Sqrt(float64(dim))))})
	y = b.Node("Softmax", []string{b.Node("Add", []string{y, b.mask})}, onnxtest.Int("axis", -1))
	y = b.Node("Transpose", []string{b.Node("MatMul", []string{y, v})}, onnxtest.IntList("perm", 0, 2, 1, 3))
	to := b.Node("Concat", []string{size(0), size(1), b.List(int64(s.hidden))}, onnxtest.Int("axis", 0))
	return b.linear(b.Node("Reshape", []string{y, to}), s.hidden, s.hidden)
}

func (b *bertBuilder) norm(x string) string {
	d := b.Node("Sub", []string{x, b.Node("ReduceMean", []string{x}, onnxtest.IntList("axes", -1))})
	v := b.Node("ReduceMean", []string{b.Node("Pow", []string{d, b.Floats(nil, 2)})}, onnxtest.IntList("axes", -1))
	y := b.Node("Div", []string{d, b.Node("Sqrt", []string{b.Node("Add", []string{v, b.Floats(nil, 1e-12)})})})
	gain := b.Filled([]int{b.shape.hidden}, func() float32 { return 1 + 0.1*float32(b.r.NormFloat64()) })
	return b.Node("Add", []string{b.Node("Mul", []string{y, gain}), b.normal(b.shape.hidden)})
}

func (b *bertBuilder) gelu(x string) string {
	y := b.Node("Erf", []string{b.Node("Div", []string{x, b.Floats(nil, math.Sqrt2)})})
	y = b.Node("Mul", []string{x, b.Node("Add", []string{y, b.Floats(nil, 1)})})
	return b.Node("Mul", []string{y, b.Floats(nil, 0.5)})
}
