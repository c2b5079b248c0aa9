package model

import (
	"quern/engine/graph"
	"quern/formats/weights"
)

// gptoss is gpt-oss: a mixture of experts with clamped SwiGLU and biases, a
// sink in every head's softmax, and a window in every other layer.
//
// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", 2025, §2.
type gptoss struct {
	*base
	layers []gptossLayer
}

type gptossLayer struct {
	attnNorm, ffnNorm norm
	attn              attention
	sinks             *weights.Tensor // (heads)
	experts           mixture
}

func newGPTOSS(set *weights.Set) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	g := &gptoss{base: m}
	for i := range c.Layers {
		g.layers = append(g.layers, gptossLayer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			sinks:    t.need(blk(i, "attn_sinks.weight"), c.Heads),
			ffnNorm:  t.norm(blk(i, "post_attention_norm"), c.Hidden),
			experts:  m.mixture(i, graph.SwiGLUClamped, true),
		})
	}
	return g, m.err()
}

func (m *gptoss) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		o := m.attn(i, 0)
		o.Sinks = l.sinks
		if i%2 == 0 {
			o.Window = c.Window
		}
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), &m.rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		x = b.Add(x, l.experts.of(b, l.ffnNorm.rms(b, x, c.Eps)))
	}
	return m.norm.rms(b, x, c.Eps)
}
