package model

import (
	"slices"

	"quern/engine/graph"
	"quern/formats/weights"
)

// glm is GLM-4 without experts: Llama's blocks with biases of query, key and value, half of
// a head rotated in neighbours, and gate and up in one matrix. The models of 2025 (glm4)
// have norms behind both parts of a layer as well; those of 2024 (chatglm) have not.
//
// Team GLM, "ChatGLM: A Family of Large Language Models", 2024, §2.
type glm struct {
	*base
	layers []glmLayer
}

type glmLayer struct {
	attnNorm, ffnNorm norm
	attnPost, ffnPost *norm // nil where there are none
	attn              attention
	ffn               mlp
}

func newGLM(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	// GGUF files of models that see have rows permuted for halves, because llama.cpp rotates
	// by positions in images only so.
	sees := slices.Max(append(set.Meta.Ints(set.prefix+"rope.dimension_sections"), 0)) > 0
	m.rope.Interleaved = set.Source != weights.GGUF || !sees
	g := &glm{base: m}
	for i := range c.Layers {
		l := glmLayer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  t.norm(blk(i, "ffn_norm"), c.Hidden),
			ffn:      m.gated(i),
		}
		if c.Arch == "glm4" {
			attn, ffn := t.norm(blk(i, "post_attention_norm"), c.Hidden), t.norm(blk(i, "post_ffw_norm"), c.Hidden)
			l.attnPost, l.ffnPost = &attn, &ffn
		}
		g.layers = append(g.layers, l)
	}
	return g, m.err()
}

func (m *glm) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	after := func(n *norm, x graph.Value) graph.Value {
		if n == nil {
			return x
		}
		return n.rms(b, x, c.Eps)
	}
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), &m.rope, c.Eps, m.attn(i, 0))
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, after(l.attnPost, l.attn.o.of(b, a)))
		x = b.Add(x, after(l.ffnPost, l.ffn.of(b, l.ffnNorm.rms(b, x, c.Eps), graph.SiLU)))
	}
	return m.norm.rms(b, x, c.Eps)
}

// glm4Names are the names of SafeTensors files, whose norms are those of before and behind.
var glm4Names = map[string]string{
	"post_self_attn_layernorm": "post_attention_norm", "post_attention_layernorm": "ffn_norm", "post_mlp_layernorm": "post_ffw_norm",
}
