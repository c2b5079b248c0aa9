package main

import (
	"math/rand/v2"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// optimised returns an encoder as ONNX Runtime's optimizer of transformers writes it (Optimum's
// O2), of float32 or quantised dynamically after that: a node for what PyTorch's exporter writes
// as a dozen.
func optimised(s shape, int8s bool, seed uint64) []byte {
	b := &optimisedBuilder{&bertBuilder{Builder: onnxtest.New(14), r: rand.New(rand.NewPCG(seed, 0)), shape: s, of: "f32", quantized: make(map[string][3]string)}}
	if int8s {
		b.of = "int8"
	}
	n := s.hidden
	narrow := func(name string) string {
		return b.Cast(b.Input(name, onnx.Int64, "batch", "sequence"), onnx.Int32)
	}
	ids, hide, kinds := narrow("input_ids"), narrow("attention_mask"), narrow("token_type_ids")
	b.Named([]string{"embedded", "lengths"}, "com.microsoft.EmbedLayerNormalization", []string{
		ids, kinds, b.normal(bertVocab, n), b.normal(bertPlaces, n), b.normal(2, n), b.ones(n), b.normal(n), hide}, onnxtest.Float("epsilon", 1e-12))
	x := "embedded"
	for range s.layers {
		x = b.skipNorm(b.bare(b.attention(x, hide), n, n), x)
		y := b.Node("com.microsoft.BiasGelu", []string{b.bare(x, n, s.ffn), b.normal(s.ffn)})
		x = b.skipNorm(b.bare(y, s.ffn, n), x)
	}
	b.Output("last_hidden_state", x, onnx.Float, "batch", "sequence", n)
	return b.Bytes()
}

type optimisedBuilder struct{ *bertBuilder }

func (b *optimisedBuilder) ones(n int) string {
	return b.Filled([]int{n}, func() float32 { return 1 })
}

// attention is a node that makes queries, keys and values itself.
func (b *optimisedBuilder) attention(x, hide string) string {
	n, heads := b.shape.hidden, onnxtest.Int("num_heads", int64(b.shape.heads))
	if b.of == "f32" {
		return b.Node("com.microsoft.Attention", []string{x, b.normal(n, 3*n), b.normal(3 * n), hide}, heads)
	}
	q, w := b.bytes(x, n, 3*n)
	return b.Node("com.microsoft.QAttention", []string{q[0], w, b.normal(3 * n), q[1], b.Floats(nil, 0.04/32), hide, q[2], b.Weight(&onnx.Tensor{Type: onnx.Int8, Data: []byte{0}})}, heads)
}

// bare is a product without a bias.
func (b *optimisedBuilder) bare(x string, in, out int) string {
	if b.of == "f32" {
		return b.Node("MatMul", []string{x, b.normal(in, out)})
	}
	return b.integers(x, in, out)
}

// skipNorm is a norm of the sum of x, its bias and skip.
func (b *optimisedBuilder) skipNorm(x, skip string) string {
	n := b.shape.hidden
	return b.Node("com.microsoft.SkipLayerNormalization", []string{x, skip, b.ones(n), b.normal(n), b.normal(n)}, onnxtest.Float("epsilon", 1e-12))
}
