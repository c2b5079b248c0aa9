package model

import (
	"quern/engine/graph"
)

// olmo2 is OLMo 2: Llama's blocks with their norms behind them, and norms over
// all query and all key heads at once.
//
// "2 OLMo 2 Furious", 2025, §2.
type olmo2 struct {
	*base
	layers []olmo2Layer
}

type olmo2Layer struct {
	attnPost, ffnPost norm
	attn              attention
	ffn               mlp
}

func newOLMo2(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	if n := m.reader.upTo("attention.sliding_window", maxContext); n > 0 {
		m.reader.refuse("attention.sliding_window", "is %d: OLMo 3, some of whose layers see a window only, is not supported", n)
	}
	o := &olmo2{base: m}
	for i := range c.Layers {
		l := olmo2Layer{
			attn:     m.attention(i),
			attnPost: t.norm(blk(i, "post_attention_norm"), c.Hidden),
			ffn:      m.gated(i),
			ffnPost:  t.norm(blk(i, "post_ffw_norm"), c.Hidden),
		}
		l.attn.qNorm = t.need(blk(i, "attn_q_norm.weight"), c.Heads*c.HeadDim)
		l.attn.kNorm = t.need(blk(i, "attn_k_norm.weight"), c.KVHeads*c.HeadDim)
		o.layers = append(o.layers, l)
	}
	return o, m.err()
}

func (m *olmo2) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		a := l.attn.of(b, x, &m.rope, c.Eps, m.attn(i, 0))
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attnPost.rms(b, l.attn.o.of(b, a), c.Eps))
		x = b.Add(x, l.ffnPost.rms(b, l.ffn.of(b, x, graph.SiLU), c.Eps))
	}
	return m.norm.rms(b, x, c.Eps)
}
