package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"

	"quern/kernels/quant"
)

// A shape is the size of a published model. Encoder and decoder are equally
// wide; the feed-forward layers are four times as wide.
type shape struct {
	name                 string
	width, heads, layers int
}

// Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision",
// 2022, table 1. nano is no published one; it is for tests and for what takes
// hours otherwise.
var shapes = []shape{
	{"nano", 64, 2, 2},
	{"tiny", 384, 6, 4},
	{"base", 512, 8, 6},
	{"small", 768, 12, 12},
}

// What all multilingual models before large-v3 share.
const (
	vocabSize  = 51865
	plainSize  = 50257 // tokens that are text
	bands      = 80
	places     = 1500 // of the encoder
	textPlaces = 448  // of the decoder
)

// A tensor is one of a model: its names in either kind of file, its shape with
// the innermost dimension last, and its values.
type tensor struct {
	openAI, huggingFace string
	shape               []int
	matrix              bool // its number type is the file's
	values              func(*rand.Rand, []float32)
}

func (t *tensor) elems() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// floats returns the values. They depend on the name and the seed only.
func (t *tensor) floats(seed uint64) []float32 {
	x := make([]float32, t.elems())
	t.values(rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, t.openAI)))), x)
	return x
}

// normal fills with numbers of mean m and deviation d.
func normal(m, d float64) func(*rand.Rand, []float32) {
	return func(r *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(m + d*r.NormFloat64())
		}
	}
}

// sinusoids are the places of the encoder: sines, then cosines, of wavelengths
// that rise geometrically to 10000 · 2π.
func sinusoids(width int) func(*rand.Rand, []float32) {
	return func(_ *rand.Rand, x []float32) {
		half := width / 2
		for at := range len(x) / width {
			for i := range half {
				sin, cos := math.Sincos(float64(at) * math.Exp(-math.Log(10000)*float64(i)/float64(half-1)))
				x[at*width+i], x[at*width+half+i] = float32(sin), float32(cos)
			}
		}
	}
}

// tensors lists a model's, in the order of whisper.cpp's files.
func (s shape) tensors() []tensor {
	var list []tensor
	add := func(openAI, huggingFace string, matrix bool, values func(*rand.Rand, []float32), shape ...int) {
		list = append(list, tensor{openAI, "model." + huggingFace, shape, matrix, values})
	}
	linear := func(o, h string, out, in int, bias bool) {
		add(o+".weight", h+".weight", true, normal(0, 1/math.Sqrt(float64(in))), out, in)
		if bias {
			add(o+".bias", h+".bias", false, normal(0, 0.02), out)
		}
	}
	norm := func(o, h string) {
		add(o+".weight", h+".weight", false, normal(1, 0.1), s.width)
		add(o+".bias", h+".bias", false, normal(0, 0.02), s.width)
	}
	attention := func(o, h, hNorm string) {
		norm(o+"_ln", hNorm)
		linear(o+".query", h+".q_proj", s.width, s.width, true)
		linear(o+".key", h+".k_proj", s.width, s.width, false)
		linear(o+".value", h+".v_proj", s.width, s.width, true)
		linear(o+".out", h+".out_proj", s.width, s.width, true)
	}
	layers := func(side string, cross bool) {
		for i := range s.layers {
			o, h := fmt.Sprintf("%s.blocks.%d.", side, i), fmt.Sprintf("%s.layers.%d.", side, i)
			attention(o+"attn", h+"self_attn", h+"self_attn_layer_norm")
			if cross {
				attention(o+"cross_attn", h+"encoder_attn", h+"encoder_attn_layer_norm")
			}
			norm(o+"mlp_ln", h+"final_layer_norm")
			linear(o+"mlp.0", h+"fc1", 4*s.width, s.width, true)
			linear(o+"mlp.2", h+"fc2", s.width, 4*s.width, true)
		}
	}
	convolution := func(name string, in int) {
		add("encoder."+name+".weight", "encoder."+name+".weight", false, normal(0, 1/math.Sqrt(float64(3*in))), s.width, in, 3)
		add("encoder."+name+".bias", "encoder."+name+".bias", false, normal(0, 0.02), s.width)
	}
	add("encoder.positional_embedding", "encoder.embed_positions.weight", false, sinusoids(s.width), places, s.width)
	convolution("conv1", bands)
	convolution("conv2", s.width)
	layers("encoder", false)
	norm("encoder.ln_post", "encoder.layer_norm")
	add("decoder.positional_embedding", "decoder.embed_positions.weight", false, normal(0, 0.02), textPlaces, s.width)
	add("decoder.token_embedding.weight", "decoder.embed_tokens.weight", true, normal(0, 0.05), vocabSize, s.width)
	layers("decoder", true)
	norm("decoder.ln", "decoder.layer_norm")
	return list
}

// numberType is how a file of type typ stores t: vectors and positions as F32,
// convolutions no smaller than F16.
func (t *tensor) numberType(typ quant.Type) quant.Type {
	switch {
	case t.matrix:
		return typ
	case len(t.shape) == 3 && typ != quant.F32:
		return quant.F16
	}
	return quant.F32
}

// vocabulary returns plainSize byte strings, each made of two before it: bytes,
// then words of the letters a to z with and without a space before them.
func vocabulary() []string {
	list := make([]string, 0, plainSize)
	for b := range 256 {
		list = append(list, string([]byte{byte(b)}))
	}
	layer := []string{" "}
	for i := range 26 {
		layer = append(layer, string(rune('a'+i)))
	}
	for {
		var next []string
		for _, prefix := range layer {
			for i := range 26 {
				word := prefix + string(rune('a'+i))
				if list = append(list, word); len(list) == plainSize {
					return list
				}
				next = append(next, word)
			}
		}
		layer = next
	}
}
