package model

import (
	"quern/engine/graph"
	"quern/formats/weights"
)

// qwen is Qwen 2 to 3, also the text part of those that see (VL): Llama's blocks with
// biases of query, key and value (2) or norms of query and key heads (3). The MoE models
// of 2 have a shared expert beside the chosen ones, weighed by a sigmoid of its own.
// Seed-OSS is Qwen 2 under another name of a norm; Hunyuan's dense models are Qwen 3
// with the norms of heads behind the rotation.
//
// "Qwen2 Technical Report", 2024, §2.2; "Qwen3 Technical Report", 2025, §2.
type qwen struct {
	*base
	layers []qwenLayer
}

type qwenLayer struct {
	attnNorm, ffnNorm norm
	attn              attention
	ffn               mlp             // of qwen2moe the shared expert
	experts           *moe            // nil in dense models
	shared            *weights.Tensor // (1, hidden); nil without a shared expert
}

// qwens is what the models of this architecture differ in.
var qwens = map[string]struct {
	ffnNorm   string
	headNorms bool
	turned    bool // these norms come behind the rotation
}{
	"qwen2":         {ffnNorm: "ffn_norm"},
	"qwen2moe":      {ffnNorm: "ffn_norm"},
	"qwen2vl":       {ffnNorm: "ffn_norm"},
	"seed_oss":      {ffnNorm: "post_attention_norm"},
	"qwen3":         {ffnNorm: "ffn_norm", headNorms: true},
	"qwen3moe":      {ffnNorm: "ffn_norm", headNorms: true},
	"qwen3vl":       {ffnNorm: "ffn_norm", headNorms: true},
	"qwen3vlmoe":    {ffnNorm: "ffn_norm", headNorms: true},
	"hunyuan-dense": {ffnNorm: "ffn_norm", headNorms: true, turned: true},
}

func newQwen(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	q, f := &qwen{base: m}, qwens[m.c.Arch]
	c, t := &m.c, &m.tensors
	for i := range c.Layers {
		x := qwenLayer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  t.norm(blk(i, f.ffnNorm), c.Hidden),
		}
		if f.headNorms {
			m.headNorms(i, &x.attn)
			x.attn.turned = f.turned
		}
		switch c.Arch {
		case "qwen2moe":
			e := m.moe(i, graph.SiLU, m.reader.flag("expert_weights_norm", false))
			x.experts = &e
			ff := m.reader.countOr("expert_shared_feed_forward_length", maxWidth, c.FF)
			x.ffn = mlp{
				gate: t.linear(blk(i, "ffn_gate_shexp"), ff, c.Hidden),
				up:   t.linear(blk(i, "ffn_up_shexp"), ff, c.Hidden),
				down: t.linear(blk(i, "ffn_down_shexp"), c.Hidden, ff),
			}
			x.shared = t.row(t.need(blk(i, "ffn_gate_inp_shexp.weight"), c.Hidden))
		case "qwen3moe", "qwen3vlmoe":
			// Every published model normalises; Hugging Face files may say no.
			e := m.moe(i, graph.SiLU, m.reader.flag("expert_weights_norm", true))
			x.experts = &e
		default:
			x.ffn = m.gated(i)
		}
		q.layers = append(q.layers, x)
	}
	return q, m.err()
}

func (m *qwen) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), &m.rope, c.Eps, m.attn(i, 0))
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		h := l.ffnNorm.rms(b, x, c.Eps)
		if l.experts == nil {
			x = b.Add(x, l.ffn.of(b, h, graph.SiLU))
			continue
		}
		y := l.experts.of(b, h)
		if l.shared != nil {
			y = b.Add(y, b.Weigh(l.ffn.of(b, h, graph.SiLU), b.Linear(h, l.shared, nil)))
		}
		x = b.Add(x, y)
	}
	return m.norm.rms(b, x, c.Eps)
}
