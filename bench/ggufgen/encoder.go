package main

import (
	"fmt"
	"math"

	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// An encoder is what BERT has beside a shape's sizes: how rows become one vector, as GGUF
// numbers it.
type encoder struct{ pooling int64 }

const poolCLS = 2

// encoderTensors lists the tensors of a BERT behind its embedding, but for matrices and vectors.
func encoderTensors(s shape, m mix, matrix func(string, quant.Type, int, int), vector func(string, int), seed uint64) []gguf.Stream {
	var out []gguf.Stream
	bias := func(name string, n int) { out = append(out, constant(name+".bias", []int{n}, 0)) }
	// llama.cpp adds these to the embedding, and wants them unrounded.
	added := func(name string, rows int) {
		data := draw(name, rows*s.width, 0, 1/math.Sqrt(float64(s.width)), seed)
		out = append(out, gguf.Stream{Name: name + ".weight", Type: quant.F32, Shape: []int{rows, s.width}, Data: floats(data)})
	}
	norm := func(name string) {
		vector(name, s.width)
		bias(name, s.width)
	}
	linear := func(name string, t quant.Type, rows, cols int) {
		matrix(name, t, rows, cols)
		bias(name, rows)
	}
	added("position_embd", s.context)
	added("token_types", 2)
	norm("token_embd_norm")
	for i := range s.layers {
		more := m.base
		if moreBits(i, s.layers) {
			more = m.more
		}
		blk := fmt.Sprintf("blk.%d.", i)
		linear(blk+"attn_q", m.base, s.width, s.width)
		linear(blk+"attn_k", m.base, s.width, s.width)
		linear(blk+"attn_v", more, s.width, s.width)
		linear(blk+"attn_output", m.base, s.width, s.width)
		norm(blk + "attn_output_norm")
		linear(blk+"ffn_up", m.base, s.ff, s.width)
		linear(blk+"ffn_down", more, s.width, s.ff)
		norm(blk + "layer_output_norm")
	}
	return out
}

// encoderKeys are the keys of a BERT's file beside those that all have.
func encoderKeys(s shape, meta *weights.Meta, own func(string, weights.Value)) {
	own("attention.layer_norm_epsilon", s.eps)
	own("attention.causal", false)
	own("pooling_type", s.encoder.pooling)
	meta.Set("tokenizer.ggml.token_type_count", int64(2))
}
