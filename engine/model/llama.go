package model

import (
	"quern/engine/graph"
)

// llama is Llama and the many models that share its architecture: RMSNorm
// before attention and feed-forward, rotary positions, grouped queries, SwiGLU
// or, in Mixtral, a mixture of experts of it. Granite multiplies some values on
// top; SmolLM3 leaves the rotation out of every fourth layer; ERNIE 4.5 rotates
// neighbours in every kind of file; Ministral 3 multiplies queries by what grows with
// their position.
//
// Touvron et al., "LLaMA", 2023, §2.2; "The Llama 3 Herd of Models", 2024, §3.2;
// Jiang et al., "Mixtral of Experts", 2024, §2; Yang et al., "RoPE to NoPE and
// Back Again", 2025, §4.
type llama struct {
	*base
	layers   []llamaLayer
	unrotate int // layers of which the last has no rotary positions; 0 for none

	// Factors of Granite, 1 elsewhere.
	embedScale, residualScale, logitScale float32
	attnScale                             float32 // 0 for 1/√headDim
}

type llamaLayer struct {
	attnNorm, ffnNorm norm
	attn              attention
	ffn               mlp
	experts           *moe // in place of ffn
}

func newLlama(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	m.interleave()
	l := &llama{base: m, embedScale: 1, residualScale: 1, logitScale: 1}
	if m.c.Arch == "llama" { // Mistral's; llama.cpp neither writes nor reads it
		m.c.Window = m.reader.upTo("attention.sliding_window", maxContext)
	}
	var temper graph.Temper
	switch m.c.Arch {
	case "mistral3":
		if beta := m.reader.float("attention.temperature_scale", 0); beta > 0 {
			temper = graph.Temper{Beta: beta, Period: m.c.Rope.Original}
		} else if beta < 0 {
			m.reader.fail("attention.temperature_scale", "is %g, want 0 or more", beta)
		}
	case "ernie4_5":
		m.rope.Interleaved, m.turns = true, false
	case "smollm3":
		l.unrotate = 4
	case "granite":
		r := &m.reader
		l.embedScale = float32(r.positive("embedding_scale", 1))
		l.residualScale = float32(r.positive("residual_scale", 1))
		l.attnScale = float32(r.float("attention.scale", 0))
		l.logitScale = float32(1 / r.positive("logit_scale", 1))
		if !r.flag("rope.scaling.finetuned", true) {
			r.refuse("rope.scaling.finetuned", "is false: granite without rotary positions")
		}
	}
	for i := range m.c.Layers {
		x := llamaLayer{
			attnNorm: m.tensors.norm(blk(i, "attn_norm"), m.c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  m.tensors.norm(blk(i, "ffn_norm"), m.c.Hidden),
		}
		x.attn.temper = temper
		if m.c.Experts > 0 {
			e := m.moe(i, graph.SiLU, true)
			x.experts = &e
		} else {
			x.ffn = m.gated(i)
		}
		l.layers = append(l.layers, x)
	}
	return l, m.err()
}

func (m *llama) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := scaled(b, b.Embed(b.Tokens(), m.embed), m.embedScale)
	for i := range m.layers {
		l := &m.layers[i]
		rope := &m.rope
		if m.unrotate > 0 && (i+1)%m.unrotate == 0 {
			rope = nil
		}
		o := m.attn(i, m.c.Window)
		if m.attnScale > 0 {
			o.Scale = m.attnScale
		}
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, scaled(b, l.attn.o.of(b, a), m.residualScale))
		h := l.ffnNorm.rms(b, x, c.Eps)
		if l.experts != nil {
			h = l.experts.of(b, h)
		} else {
			h = l.ffn.of(b, h, graph.SiLU)
		}
		x = b.Add(x, scaled(b, h, m.residualScale))
	}
	return m.norm.rms(b, x, c.Eps)
}

func (m *llama) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return scaled(b, m.base.Logits(b, hidden), m.logitScale)
}

// scaled multiplies x by a factor that is 1 in most models.
func scaled(b *graph.Builder, x graph.Value, by float32) graph.Value {
	if by == 1 {
		return x
	}
	return b.Scale(x, by)
}
