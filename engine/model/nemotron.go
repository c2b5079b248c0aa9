package model

import (
	"slices"
	"strings"

	"quern/engine/graph"
)

// nemotron is a layer of Nemotron-H: one mixer, a feed-forward block without a gate, or
// experts without gates beside a shared one (nemotron_h_moe). Larger models send a shorter
// vector through their experts, from and to which they project.
//
// NVIDIA, "Nemotron-H", 2025, §2.1; "Nemotron 3", 2025, §2.
func (m *hybrid) nemotron(i int) hybridLayer {
	c, t, r := &m.c, &m.tensors, &m.reader
	n := t.norm(blk(i, "attn_norm"), c.Hidden)
	switch {
	case c.layerFF[i] > 0 && c.Experts > 0:
		return hybridLayer{ffnNorm: n, ffn: m.latentExperts(i)}
	case c.layerFF[i] > 0:
		return hybridLayer{ffnNorm: n, ffn: feeds(m.plain(i), graph.SquaredReLU)}
	case c.layerKV[i] > 0:
		return hybridLayer{norm: n, mixers: []mixer{m.looks(m.attention(i), nil, float32(r.float("attention.scale", 0)))}}
	}
	return hybridLayer{norm: n, mixers: []mixer{m.ssd(i, true)}}
}

// latentExperts finds the experts of layer i, whose rows may be shorter than the model's, and
// the block beside them, whose are not. The router sees whole rows.
func (m *hybrid) latentExperts(i int) feed {
	c, t, r := &m.c, &m.tensors, &m.reader
	width := r.upTo("moe_latent_size", maxWidth)
	var down, up linear
	if width > 0 {
		down, up = t.linear(blk(i, "ffn_latent_down"), width, c.Hidden), t.linear(blk(i, "ffn_latent_up"), c.Hidden, width)
	} else {
		width = c.Hidden
	}
	e := m.expertsFor(i, graph.SquaredReLU, m.routing(i, true, true), width)
	var shared mlp
	if ff := m.sharedWidth(); ff > 0 {
		shared = mlp{up: t.linear(blk(i, "ffn_up_shexp"), ff, c.Hidden), down: t.linear(blk(i, "ffn_down_shexp"), c.Hidden, ff)}
	}
	return func(b *graph.Builder, h graph.Value) graph.Value {
		x := h
		if down.w != nil {
			x = down.of(b, h)
		}
		y := b.Experts(x, e.router.of(b, h), e.o)
		if up.w != nil {
			y = up.of(b, y)
		}
		if shared.down.w != nil {
			y = b.Add(y, shared.of(b, h, graph.SquaredReLU))
		}
		return y
	}
}

// nemotronNames are the names of SafeTensors files.
var nemotronNames = with(mambaNames, map[string]string{
	"mixer.q_proj": "attn_q", "mixer.k_proj": "attn_k", "mixer.v_proj": "attn_v", "mixer.o_proj": "attn_output", "mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down",
	"mixer.gate": "ffn_gate_inp", "mixer.gate.e_score_correction_bias": "exp_probs_b.bias",
	"mixer.experts.EXPERT.up_proj": "ffn_up_exps", "mixer.experts.EXPERT.down_proj": "ffn_down_exps", "mixer.experts.up_proj": "ffn_up_exps", "mixer.experts.down_proj": "ffn_down_exps",
	"mixer.shared_experts.up_proj": "ffn_up_shexp", "mixer.shared_experts.down_proj": "ffn_down_shexp",
	"mixer.fc1_latent_proj": "ffn_latent_down", "mixer.fc2_latent_proj": "ffn_latent_up",
})

// nemotronLayers are the kinds of layers, in letters or words.
func nemotronLayers(c *hfConfig) []string {
	if s, ok := c.m["hybrid_override_pattern"].(string); ok {
		return strings.Split(s, "")
	}
	list, _ := c.m["layers_block_type"].([]any)
	kinds := make([]string, len(list))
	for i, v := range list {
		kinds[i], _ = v.(string)
	}
	return kinds
}

// nemotronArch is the architecture of a model with layers of experts, or without.
func nemotronArch(c *hfConfig) string {
	for _, kind := range nemotronLayers(c) {
		if kind == "E" || kind == "moe" {
			return "nemotron_h_moe"
		}
	}
	return "nemotron_h"
}

// nemotronConfig reads what config.json has of its own.
func nemotronConfig(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "ssm_state_size", "ssm.group_count": "n_groups", "ssm.time_step_rank": "mamba_num_heads"})
	put("ssm.inner_size", c.int("mamba_num_heads", 0)*c.int("mamba_head_dim", 0))
	pattern := nemotronLayers(c)
	kv, ff := make([]int64, len(pattern)), make([]int64, len(pattern))
	for i, kind := range pattern {
		switch kind {
		case "M", "mamba", "linear_attention":
		case "*", "attention", "full_attention":
			kv[i] = c.int("num_key_value_heads", 0)
		case "-", "mlp":
			ff[i] = c.int("intermediate_size", 0)
		case "E", "moe":
			ff[i] = c.int("moe_intermediate_size", 0)
		default:
			c.refuse("layers of type %.100q in a model of type %s", kind, c.kind)
		}
	}
	if n := c.int("attention_head_dim", 0); n > 0 && c.m["head_dim"] == nil { // early spelling
		put("attention.key_length", n)
		put("attention.value_length", n)
	}
	put("block_count", int64(len(pattern)))
	put("attention.layer_norm_epsilon", c.m["layer_norm_epsilon"]) // llama.cpp wants it for the norm of what drafts
	put("attention.head_count_kv", kv)
	put("feed_forward_length", ff)
	if c.arch != "nemotron_h_moe" {
		return
	}
	if slices.Contains(pattern, "-") || slices.Contains(pattern, "mlp") {
		c.refuse("layers with and without experts in a model of type %s", c.kind)
	}
	if c.m["norm_topk_prob"] == nil {
		c.m["norm_topk_prob"] = true
	}
	routedExperts(c, put)
	put("expert_gating_func", int64(2))
	if n := c.int("moe_shared_expert_intermediate_size", 0); n > 0 {
		put("expert_shared_feed_forward_length", n)
	}
	if n := c.int("moe_latent_size", 0); n > 0 {
		put("moe_latent_size", n)
	}
}
