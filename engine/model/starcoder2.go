package model

import (
	"quern/engine/graph"
)

// starcoder2 is StarCoder2: Llama's order of blocks with LayerNorm, biases and
// a feed-forward block without a gate.
//
// Lozhkov et al., "StarCoder 2 and The Stack v2", 2024, §6.
type starcoder2 struct {
	*base
	layers []starcoder2Layer
}

type starcoder2Layer struct {
	attnNorm, ffnNorm norm
	attn              attention
	ffn               mlp
}

func newStarcoder2(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	s := &starcoder2{base: m}
	m.c.Window = m.reader.upTo("attention.sliding_window", maxContext) // llama.cpp neither writes nor reads it
	for i := range m.c.Layers {
		s.layers = append(s.layers, starcoder2Layer{
			attnNorm: m.tensors.norm(blk(i, "attn_norm"), m.c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  m.tensors.norm(blk(i, "ffn_norm"), m.c.Hidden),
			ffn:      m.plain(i),
		})
	}
	return s, m.err()
}

func (m *starcoder2) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		a := l.attn.of(b, l.attnNorm.layer(b, x, c.Eps), &m.rope, c.Eps, m.attn(i, m.c.Window))
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		x = b.Add(x, l.ffn.of(b, l.ffnNorm.layer(b, x, c.Eps), graph.GELUTanh))
	}
	return m.norm.layer(b, x, c.Eps)
}
