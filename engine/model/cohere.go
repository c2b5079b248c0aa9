package model

import (
	"quern/engine/graph"
)

// cohere is Command R (command-r) and Command R7B and A (cohere2): attention and
// feed-forward side by side behind one LayerNorm without a bias, neighbouring values
// rotated, logits multiplied by a factor. In cohere2 three of four layers see a window;
// the others do not rotate. Command R+ is refused by its norms of query and key heads,
// which nothing here reads.
//
// Cohere, "Command A: An Enterprise-Ready Large Language Model", 2025, §2.
type cohere struct {
	*base
	layers     []cohereLayer
	logitScale float32
}

type cohereLayer struct {
	norm norm
	attn attention
	ffn  mlp
}

func newCohere(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c := &m.c
	m.rope.Interleaved = true // in SafeTensors files as well
	g := &cohere{base: m, logitScale: float32(m.reader.positive("logit_scale", 1))}
	if c.Arch == "cohere2" {
		if m.slides = m.reader.windows(c, 4, 0); m.slides == nil {
			m.reader.fail("attention.sliding_window", "is missing")
		}
		m.reader.sameBase(c)
	}
	for i := range c.Layers {
		g.layers = append(g.layers, cohereLayer{norm: m.tensors.norm(blk(i, "attn_norm"), c.Hidden), attn: m.attention(i), ffn: m.gated(i)})
	}
	return g, m.err()
}

func (m *cohere) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		rope, o := &m.rope, m.attn(i, m.window(i))
		if m.slides != nil && o.Window == 0 {
			rope = nil
		}
		h := l.norm.layer(b, x, c.Eps)
		a := l.attn.of(b, h, rope, c.Eps, o)
		if i == c.Layers-1 {
			h = b.Take(h, b.Wanted())
		}
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, b.Add(l.attn.o.of(b, a), l.ffn.of(b, h, graph.SiLU)))
	}
	return m.norm.layer(b, x, c.Eps)
}

func (m *cohere) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return scaled(b, m.base.Logits(b, hidden), m.logitScale)
}
