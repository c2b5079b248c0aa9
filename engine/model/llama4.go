package model

import (
	"fmt"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// llama4 is the text part of Llama 4: three of four layers rotate neighbours, norm what
// they rotated without weights and look at their chunk of positions only; the fourth sees
// everything, does not rotate, and multiplies queries by what grows with their position.
// Every so manieth layer is a mixture of experts beside a shared one, in which a row's
// weight multiplies what goes into an expert.
//
// Meta, "The Llama 4 herd", 2025, and its modelling code.
type llama4 struct {
	*base
	layers []llama4Layer
	every  int // of so many layers the last sees everything
	chunk  int
	ones   *weights.Tensor // (headDim); nil in models without these norms
}

type llama4Layer struct {
	attnNorm, ffnNorm norm
	attn              attention
	ffn               mlp  // of dense layers, or the shared expert
	experts           *moe // nil in dense layers
}

// GGUF files do not say these, and llama.cpp has them as constants; quern's translation
// of config.json writes the keys where they differ.
const (
	llama4Chunk = 8192
	llama4Beta  = 0.1
	llama4Every = 4
)

func newLlama4(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t, r := &m.c, &m.tensors, &m.reader
	m.rope.Interleaved = true
	l := &llama4{
		base: m, every: r.countOr("attention.full_layer_interval", maxLayers, llama4Every),
		chunk: r.countOr("attention.chunk_size", maxContext, llama4Chunk),
	}
	// The model of 128 experts has no such norms.
	if r.flag("attention.qk_norm", c.Experts != 128) {
		l.ones = ones(c.HeadDim)
	}
	temper := graph.Temper{
		Beta: r.float("attention.temperature_scale", llama4Beta), Period: r.countOr("attention.temperature_length", maxContext, llama4Chunk), Offset: 1,
	}
	step := r.count("interleave_moe_layer_step", maxLayers)
	for i := range c.Layers {
		x := llama4Layer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			ffnNorm:  t.norm(blk(i, "ffn_norm"), c.Hidden),
		}
		if l.full(i) {
			if temper.Beta > 0 {
				x.attn.temper = temper
			}
		} else {
			x.attn.qNorm, x.attn.kNorm, x.attn.turned = l.ones, l.ones, true
		}
		if (i+1)%step == 0 {
			e := m.expertsOf(i, graph.SiLU, graph.Routing{Used: c.Used, Sigmoid: true, OnInput: true})
			x.experts = &e
			x.ffn = mlp{
				gate: t.linear(blk(i, "ffn_gate_shexp"), c.ExpertFF, c.Hidden),
				up:   t.linear(blk(i, "ffn_up_shexp"), c.ExpertFF, c.Hidden),
				down: t.linear(blk(i, "ffn_down_shexp"), c.Hidden, c.ExpertFF),
			}
		} else {
			x.ffn = m.gated(i)
		}
		l.layers = append(l.layers, x)
	}
	return l, m.err()
}

// full reports whether layer i sees everything.
func (m *llama4) full(i int) bool { return (i+1)%m.every == 0 }

func (m *llama4) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		rope, o := &m.rope, m.attn(i, 0)
		if m.full(i) {
			rope = nil
		} else {
			o.Chunk = m.chunk
		}
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		h := l.ffnNorm.rms(b, x, c.Eps)
		y := l.ffn.of(b, h, graph.SiLU)
		if l.experts != nil {
			y = b.Add(l.experts.of(b, h), y)
		}
		x = b.Add(x, y)
	}
	return m.norm.rms(b, x, c.Eps)
}

// llama4Names are the names of SafeTensors files, whose experts come stacked; see
// turnedExperts.
var llama4Names = map[string]string{
	"feed_forward.gate_proj":               "ffn_gate",
	"feed_forward.up_proj":                 "ffn_up",
	"feed_forward.down_proj":               "ffn_down",
	"feed_forward.router":                  "ffn_gate_inp",
	"feed_forward.shared_expert.gate_proj": "ffn_gate_shexp",
	"feed_forward.shared_expert.up_proj":   "ffn_up_shexp",
	"feed_forward.shared_expert.down_proj": "ffn_down_shexp",
	"feed_forward.experts.gate_up_proj":    "ffn_gate_up_exps",
	"feed_forward.experts.down_proj":       "ffn_down_exps",
}

var (
	llama4Reads    = []string{"attn_temperature_tuning"}
	llama4Defaults = map[string]any{"head_dim": int64(128), "rope_theta": 5e5, "use_qk_norm": true, "interleave_moe_layer_step": int64(1), "attn_temperature_tuning": true}
)

// llama4Config reads what config.json has of its own.
func llama4Config(c *hfConfig, put func(string, any)) {
	layers := c.int("num_hidden_layers", 0)
	for key, from := range map[string]string{
		"expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok", "interleave_moe_layer_step": "interleave_moe_layer_step",
		"feed_forward_length": "intermediate_size_mlp", "expert_feed_forward_length": "intermediate_size",
	} {
		if v := c.m[from]; v != nil {
			put(key, v)
		}
	}
	step := c.int("interleave_moe_layer_step", 1)
	if list, ok := c.m["moe_layers"].([]any); ok {
		for i, v := range list {
			if n, ok := v.(int64); !ok || n != int64(i+1)*step-1 {
				c.refuse("moe_layers that are not every %d layers", step)
			}
		}
	}
	every := int64(llama4Every)
	if list, ok := c.m["no_rope_layers"].([]any); ok && len(list) > 0 { // 1 where a layer rotates
		every = layers + 1
		for i, v := range list {
			if v == int64(0) {
				every = int64(i + 1)
				break
			}
		}
		for i, v := range list {
			if (v == int64(0)) != ((int64(i)+1)%every == 0) {
				c.refuse("rotary positions left out of layers that are not every %d", every)
			}
		}
	}
	own := func(key string, v, usual any) {
		if v != usual {
			put(key, v)
		}
	}
	own("attention.full_layer_interval", every, int64(llama4Every))
	own("attention.chunk_size", c.int("attention_chunk_size", llama4Chunk), int64(llama4Chunk))
	own("attention.temperature_length", c.int("floor_scale", llama4Chunk), int64(llama4Chunk))
	beta := llama4Beta
	if v, ok := number(c.m["attn_scale"]); ok {
		beta = v
	}
	switch v := c.m["attn_temperature_tuning"].(type) {
	case bool:
		if !v {
			beta = 0
		}
	case int64, float64:
		if n, _ := number(v); n == 0 {
			beta = 0
		}
	}
	own("attention.temperature_scale", beta, llama4Beta)
	own("attention.qk_norm", c.flag("use_qk_norm"), c.int("num_local_experts", 0) != 128)
}

// turnedExperts takes stacked experts of Llama 4's and Qwen3-VL's SafeTensors files apart:
// (experts, in, out), with gate before up.
func (tr *translation) turnedExperts(t *weights.Tensor) error {
	if len(t.Shape) != 3 {
		return fmt.Errorf("%w: tensor %s has shape %v, want three dimensions", ErrFormat, t.Name, t.Shape)
	}
	out := t.Shape[2]
	const fused = "ffn_gate_up_exps.weight"
	name, ok := strings.CutSuffix(t.Name, fused)
	if !ok {
		return tr.put(transposed(t.Name, t, 0, out))
	}
	if out%2 != 0 {
		return fmt.Errorf("%w: tensor %s has shape %v, want an even last dimension", ErrFormat, t.Name, t.Shape)
	}
	if err := tr.put(transposed(name+"ffn_gate_exps.weight", t, 0, out/2)); err != nil {
		return err
	}
	return tr.put(transposed(name+"ffn_up_exps.weight", t, out/2, out))
}
