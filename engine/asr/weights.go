package asr

import (
	"fmt"
	"slices"
	"strings"

	"quern/formats/ggml"
	"quern/formats/weights"
)

// attention holds the projections of one attention layer and the norm before it.
// Keys have no bias.
type attention struct {
	norm, normBias                 *weights.Tensor
	q, qBias, k, v, vBias, o, bias *weights.Tensor
}

// A block is one layer. cross is the zero value in encoders.
type block struct {
	self, cross    attention
	norm, normBias *weights.Tensor
	up, upBias     *weights.Tensor
	down, downBias *weights.Tensor
}

// parameters are the tensors of a model.
type parameters struct {
	conv1, conv1Bias, conv2, conv2Bias *weights.Tensor
	places                             *weights.Tensor // of the encoder
	encoder                            []block
	post, postBias                     *weights.Tensor

	tokens, positions *weights.Tensor
	decoder           []block
	last, lastBias    *weights.Tensor
}

// huggingFace turns the names of OpenAI's files, which ggml files keep, into
// those of Hugging Face. The order matters.
var huggingFace = strings.NewReplacer(
	"encoder.positional_embedding", "encoder.embed_positions.weight",
	"decoder.positional_embedding", "decoder.embed_positions.weight",
	"decoder.token_embedding", "decoder.embed_tokens",
	"encoder.ln_post", "encoder.layer_norm",
	"decoder.ln.", "decoder.layer_norm.",
	".blocks.", ".layers.",
	".cross_attn_ln.", ".encoder_attn_layer_norm.",
	".attn_ln.", ".self_attn_layer_norm.",
	".mlp_ln.", ".final_layer_norm.",
	".mlp.0.", ".fc1.",
	".mlp.2.", ".fc2.",
	".cross_attn.query.", ".encoder_attn.q_proj.",
	".cross_attn.key.", ".encoder_attn.k_proj.",
	".cross_attn.value.", ".encoder_attn.v_proj.",
	".cross_attn.out.", ".encoder_attn.out_proj.",
	".attn.query.", ".self_attn.q_proj.",
	".attn.key.", ".self_attn.k_proj.",
	".attn.value.", ".self_attn.v_proj.",
	".attn.out.", ".self_attn.out_proj.",
)

// A finder looks tensors up. Its first error sticks.
type finder struct {
	set *weights.Set
	hf  bool
	err error
}

// find returns the tensor of OpenAI's name, which must have that shape.
func (f *finder) find(name string, shape ...int) *weights.Tensor {
	if f.err != nil {
		return nil
	}
	names := []string{name}
	if f.hf {
		n := huggingFace.Replace(name)
		names = []string{"model." + n, n}
	}
	for _, n := range names {
		t, ok := f.set.Tensor(n)
		if !ok {
			continue
		}
		elems := 1
		for _, d := range shape {
			elems *= d
		}
		// ggml files keep the bias of a convolution as a column.
		if len(shape) == 1 && t.Elems() == elems || slices.Equal(t.Shape, shape) {
			return t
		}
		f.err = fmt.Errorf("%w: tensor %s has shape %v, want %v", ErrFormat, n, t.Shape, shape)
		return nil
	}
	f.err = fmt.Errorf("%w: no tensor %s", ErrFormat, names[0])
	return nil
}

func (f *finder) attention(name string, d int) attention {
	return attention{
		norm: f.find(name+"_ln.weight", d), normBias: f.find(name+"_ln.bias", d),
		q: f.find(name+".query.weight", d, d), qBias: f.find(name+".query.bias", d),
		k: f.find(name+".key.weight", d, d),
		v: f.find(name+".value.weight", d, d), vBias: f.find(name+".value.bias", d),
		o: f.find(name+".out.weight", d, d), bias: f.find(name+".out.bias", d),
	}
}

func (f *finder) blocks(side string, s stack, cross bool) []block {
	var list []block
	for i := range s.layers {
		if f.err != nil {
			return nil // a file may claim more layers than it has
		}
		p := fmt.Sprintf("%s.blocks.%d.", side, i)
		b := block{
			self: f.attention(p+"attn", s.width),
			norm: f.find(p+"mlp_ln.weight", s.width), normBias: f.find(p+"mlp_ln.bias", s.width),
			up: f.find(p+"mlp.0.weight", s.ff, s.width), upBias: f.find(p+"mlp.0.bias", s.ff),
			down: f.find(p+"mlp.2.weight", s.width, s.ff), downBias: f.find(p+"mlp.2.bias", s.width),
		}
		if cross {
			b.cross = f.attention(p+"cross_attn", s.width)
		}
		list = append(list, b)
	}
	return list
}

// parametersOf finds all tensors of a model.
func parametersOf(set *weights.Set, c *config) (*parameters, error) {
	f := &finder{set: set, hf: set.Meta.String(ggml.KindKey) == ""}
	d := c.encoder.width
	p := &parameters{
		conv1: f.find("encoder.conv1.weight", d, c.mels, 3), conv1Bias: f.find("encoder.conv1.bias", d),
		conv2: f.find("encoder.conv2.weight", d, d, 3), conv2Bias: f.find("encoder.conv2.bias", d),
		places:  f.find("encoder.positional_embedding", c.encoder.places, d),
		encoder: f.blocks("encoder", c.encoder, false),
		post:    f.find("encoder.ln_post.weight", d), postBias: f.find("encoder.ln_post.bias", d),
		tokens: f.find("decoder.token_embedding.weight", c.vocab, d), positions: f.find("decoder.positional_embedding", c.decoder.places, d),
		decoder: f.blocks("decoder", c.decoder, true),
		last:    f.find("decoder.ln.weight", d), lastBias: f.find("decoder.ln.bias", d),
	}
	return p, f.err
}
