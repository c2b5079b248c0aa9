package model

import (
	"quern/engine/graph"
)

// falconLM is Falcon 7B, 40B and 180B: attention and feed-forward side by side,
// behind one LayerNorm (7B) or one each (40B and 180B).
//
// Almazrouei et al., "The Falcon Series of Open Language Models", 2023, §4.
type falconLM struct {
	*base
	layers []falconLayer
}

type falconLayer struct {
	norm     norm // of the feed-forward block
	attnNorm norm // norm in models that have only one
	attn     attention
	ffn      mlp
}

func newFalcon(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	f := &falconLM{base: m}
	for i := range m.c.Layers {
		l := falconLayer{norm: m.tensors.norm(blk(i, "attn_norm"), m.c.Hidden), attn: m.attention(i), ffn: m.plain(i)}
		l.attnNorm = l.norm
		if _, ok := set.Tensor(blk(i, "attn_norm_2.weight")); ok {
			l.attnNorm = m.tensors.norm(blk(i, "attn_norm_2"), m.c.Hidden)
		}
		f.layers = append(f.layers, l)
	}
	return f, m.err()
}

func (m *falconLM) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		h := l.norm.layer(b, x, c.Eps)
		g := h
		if l.attnNorm != l.norm {
			g = l.attnNorm.layer(b, x, c.Eps)
		}
		a := l.attn.of(b, g, &m.rope, c.Eps, m.attn(i, 0))
		if i == c.Layers-1 {
			h = b.Take(h, b.Wanted())
		}
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, b.Add(l.attn.o.of(b, a), l.ffn.of(b, h, graph.GELU)))
	}
	return m.norm.layer(b, x, c.Eps)
}
