package model

import (
	"quern/engine/graph"
)

// routed is the mixtures of experts that kept Llama's attention: GLM 4.5, MiniMax M2 and
// ERNIE 4.5. The first layers may be dense; behind them come experts, beside one that
// every row goes through.
//
// "GLM-4.5", 2025, §2.1; "MiniMax-01", 2025, §2; "ERNIE 4.5 Technical Report", 2025, §2.
type routed struct {
	*base
	layers []routedLayer
}

type routedLayer struct {
	attnNorm, ffnNorm norm
	attn              attention
	ffn               feed
}

// routeds is what these models differ in.
var routeds = map[string]struct {
	ffnNorm   string
	wideNorms bool // norms over all query and all key heads
	adjacent  bool // neighbours are rotated, in every kind of file
	sigmoid   bool
}{
	"glm4moe":      {ffnNorm: "post_attention_norm", sigmoid: true},
	"minimax-m2":   {ffnNorm: "ffn_norm", wideNorms: true, sigmoid: true},
	"ernie4_5-moe": {ffnNorm: "ffn_norm", adjacent: true},
}

func newRouted(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t, f := &m.c, &m.tensors, routeds[m.c.Arch]
	if f.adjacent {
		m.rope.Interleaved = true
	}
	dense := m.reader.upTo("leading_dense_block_count", c.Layers)
	step := m.reader.countOr("interleave_moe_layer_step", c.Layers, 1)
	g := &routed{base: m}
	for i := range c.Layers {
		l := routedLayer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  t.norm(blk(i, f.ffnNorm), c.Hidden),
		}
		if f.wideNorms {
			l.attn.qNorm = t.need(blk(i, "attn_q_norm.weight"), c.Heads*c.HeadDim)
			l.attn.kNorm = t.need(blk(i, "attn_k_norm.weight"), c.KVHeads*c.HeadDim)
		} else if _, ok := set.Tensor(blk(i, "attn_q_norm.weight")); ok {
			m.headNorms(i, &l.attn)
		}
		if i < dense || (i+1)%step != 0 {
			l.ffn = feeds(m.gated(i), graph.SiLU)
		} else {
			l.ffn = mixture(m.expertsOf(i, graph.SiLU, m.routing(i, f.sigmoid, true)), m.sharedExpert(i), linear{})
		}
		g.layers = append(g.layers, l)
	}
	return g, m.err()
}

func (m *routed) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), &m.rope, c.Eps, m.attn(i, 0))
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		x = b.Add(x, l.ffn(b, l.ffnNorm.rms(b, x, c.Eps)))
	}
	return m.norm.rms(b, x, c.Eps)
}
