package model

import (
	"fmt"

	"quern/engine/graph"
	"quern/formats/weights"
)

// bert is BERT and nomic-bert, which make embeddings: every token sees the
// whole text and norms come after each block. BERT learns its positions;
// nomic-bert rotates and has a SwiGLU.
//
// Devlin et al., "BERT", 2019, §3; Nussbaum et al., "Nomic Embed", 2024, §3.
type bert struct {
	*base
	types    *weights.Tensor // (hidden) of texts that are no pair, or nil
	position *weights.Tensor // (context, hidden), or nil
	layers   []bertLayer
	act      graph.Act
}

type bertLayer struct {
	attn             attention
	attnPost, ffnEnd norm
	ffn              mlp
}

func newBert(set *file) (LM, error) {
	m, err := newBase(set, true)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	e := &bert{base: m, act: graph.GELU}
	if w, ok := set.Tensor("token_types.weight"); ok {
		if len(w.Shape) != 2 || w.Shape[0] < 1 || w.Shape[1] != c.Hidden {
			return nil, fmt.Errorf("%w: tensor %s has shape %v, want rows of %d", ErrFormat, w.Name, w.Shape, c.Hidden)
		}
		if row := t.cut(w, "first", 0, 1); row != nil {
			row.Shape = []int{c.Hidden}
			e.types = row
		}
	}
	if c.Arch == "bert" {
		w, ok := set.Tensor("position_embd.weight")
		if !ok || len(w.Shape) != 2 || w.Shape[1] != c.Hidden || w.Shape[0] < 1 {
			return nil, fmt.Errorf("%w: no position_embd.weight with rows of %d", ErrFormat, c.Hidden)
		}
		e.position, c.Context = w, min(c.Context, w.Shape[0])
	}
	for i := range c.Layers {
		l := bertLayer{
			attn:     m.attention(i),
			attnPost: t.norm(blk(i, "attn_output_norm"), c.Hidden),
			ffnEnd:   t.norm(blk(i, "layer_output_norm"), c.Hidden),
		}
		if c.Arch == "bert" {
			l.ffn = m.plain(i)
		} else {
			l.ffn, e.act = m.gated(i), graph.SiLU
		}
		e.layers = append(e.layers, l)
	}
	if m.reader.flag(scoresPairs, false) {
		return newBertPairs(e)
	}
	return e, m.err()
}

func (m *bert) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	if m.types != nil {
		x = b.Bias(x, m.types)
	}
	rope := &m.rope
	if m.position != nil {
		x, rope = b.Add(x, b.Embed(b.Positions(), m.position)), nil
	}
	x = m.norm.layer(b, x, c.Eps)
	for i := range m.layers {
		l := &m.layers[i]
		// A layer's keys are not read after it: all share the cache's first.
		o := m.attn(0, 0)
		o.Bidirectional = true
		a := l.attn.of(b, x, rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = l.attnPost.layer(b, b.Add(x, l.attn.o.of(b, a)), c.Eps)
		x = l.ffnEnd.layer(b, b.Add(x, l.ffn.of(b, x, m.act)), c.Eps)
	}
	return x
}
