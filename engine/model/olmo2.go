package model

import (
	"quern/engine/graph"
)

// olmo2 is OLMo 2 and 3 and EXAONE 4: Llama's blocks with their norms behind them, and
// norms of queries and keys, over all heads at once (OLMo) or over each (EXAONE). Three
// of four layers of OLMo 3 and of EXAONE 4 32B see a window. OLMo 3 scales positions
// only in the others; EXAONE does not rotate those.
//
// "2 OLMo 2 Furious", 2025, §2; "Olmo 3", 2025, §3; "EXAONE 4.0", 2025, §2.
type olmo2 struct {
	*base
	layers []olmo2Layer
	local  *graph.Rope // of layers with a window
	global *graph.Rope // of the others; nil for no rotation
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
	window := 0
	if c.Arch == "exaone4" && c.Layers == 64 {
		window = 4096 // early files of the 32B model do not say so; llama.cpp knows them by their layers
	}
	m.slides = m.reader.windows(c, 4, window)
	o := &olmo2{base: m, local: &m.rope, global: &m.rope}
	heads, keys := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	switch {
	case c.Arch == "exaone4":
		heads, keys = c.HeadDim, c.HeadDim
		if m.slides != nil {
			o.global = nil
		}
		m.reader.sameBase(c)
	case m.slides != nil:
		local, err := m.unscaled(c.Rope.Base)
		if err != nil {
			return nil, err
		}
		o.local = &local
	}
	for i := range c.Layers {
		l := olmo2Layer{
			attn:     m.attention(i),
			attnPost: t.norm(blk(i, "post_attention_norm"), c.Hidden),
			ffn:      m.gated(i),
			ffnPost:  t.norm(blk(i, "post_ffw_norm"), c.Hidden),
		}
		l.attn.qNorm = t.need(blk(i, "attn_q_norm.weight"), heads)
		l.attn.kNorm = t.need(blk(i, "attn_k_norm.weight"), keys)
		o.layers = append(o.layers, l)
	}
	return o, m.err()
}

func (m *olmo2) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		rope, o := m.global, m.attn(i, m.window(i))
		if o.Window > 0 {
			rope = m.local
		}
		a := l.attn.of(b, x, rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attnPost.rms(b, l.attn.o.of(b, a), c.Eps))
		x = b.Add(x, l.ffnPost.rms(b, l.ffn.of(b, x, graph.SiLU), c.Eps))
	}
	return m.norm.rms(b, x, c.Eps)
}
