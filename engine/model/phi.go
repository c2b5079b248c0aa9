package model

import (
	"quern/engine/graph"
	"quern/formats/weights"
)

// phi3 is Phi 3 to 4: Llama's blocks with fused projections, and rotation by
// one of two sets of factors, for sequences within the original context or
// beyond it. phimoe, which is Phi 3.5 MoE, has biases and a mixture of experts.
//
// "Phi-3 Technical Report", 2024, §2; Ding et al., "LongRoPE", 2024, §3.
type phi3 struct {
	*base
	layers      []phi3Layer
	long, short *weights.Tensor // (rotated values / 2), or nil
	layerNorm   bool
}

type phi3Layer struct {
	attnNorm, ffnNorm norm
	attn              attention
	ffn               mlp
	experts           *moe // of phimoe
}

// Phi 3.5 MoE is two models. llama.cpp runs its GGUF files with RMS norms, with a
// bias, and with softmax routing; Microsoft's own has LayerNorm and SparseMixer.
// A key tells: Translate writes phimoe.router_jitter, llama.cpp's converter does
// not. Translate writes the epsilons of both norms, so that llama.cpp loads the
// file.
const routerJitter = "router_jitter"

func newPhi3(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	// llama.cpp's converter fills the window in wrongly for some models, and
	// llama.cpp therefore runs all GGUF files without one; so does quern.
	if n := m.reader.upTo("attention.sliding_window", maxContext); set.Source != weights.GGUF {
		c.Window = n
	}
	jitter := m.reader.float(routerJitter, -1)
	sparse := jitter != -1
	if sparse {
		c.Eps = m.reader.eps(true)
	}
	if sparse && (c.Used != 2 || jitter < 0 || jitter > 1) {
		m.reader.fail(routerJitter, "is %g for %d experts a token, want 0 to 1 for 2", jitter, c.Used)
	}
	p := &phi3{
		layerNorm: sparse,
		base:      m,
	}
	p.long, p.short = m.divisors()
	for i := range c.Layers {
		x := phi3Layer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  t.norm(blk(i, "ffn_norm"), c.Hidden),
		}
		if c.Arch == "phimoe" {
			e := m.moe(i, graph.SiLU, true)
			e.o.SparseMixer, e.o.Jitter = sparse, float32(jitter)
			x.experts = &e
		} else {
			x.ffn = m.gated(i)
		}
		p.layers = append(p.layers, x)
	}
	return p, m.err()
}

func (m *phi3) normed(b *graph.Builder, n *norm, x graph.Value) graph.Value {
	if m.layerNorm {
		return n.layer(b, x, m.c.Eps)
	}
	return n.rms(b, x, m.c.Eps)
}

func (m *phi3) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	rope := m.stretched(b, m.long, m.short)
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		a := l.attn.of(b, m.normed(b, &l.attnNorm, x), &rope, c.Eps, m.attn(i, c.Window))
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		h := m.normed(b, &l.ffnNorm, x)
		if l.experts != nil {
			h = l.experts.of(b, h)
		} else {
			h = l.ffn.of(b, h, graph.SiLU)
		}
		x = b.Add(x, h)
	}
	return m.normed(b, &m.norm, x)
}
