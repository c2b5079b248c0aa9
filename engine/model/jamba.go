package model

import "quern/engine/graph"

// jamba is a layer of Jamba: Mamba-1 with norms of dt, b and c, or attention without
// rotation, and behind either a feed-forward block or experts.
//
// Lieber et al., "Jamba: A Hybrid Transformer-Mamba Language Model", 2024, §3.
func (m *hybrid) jamba(i int) hybridLayer {
	c, t := &m.c, &m.tensors
	l := hybridLayer{norm: t.norm(blk(i, "attn_norm"), c.Hidden), ffnNorm: t.norm(blk(i, "ffn_norm"), c.Hidden)}
	if c.layerKV[i] > 0 {
		l.mixers = []mixer{m.looks(m.attention(i), nil, 0)}
	} else {
		l.mixers = []mixer{m.selective(i)}
	}
	// No key says which layers have experts.
	if _, ok := t.set.Tensor(blk(i, "ffn_gate_inp.weight")); ok {
		l.ffn = mixture(m.expertsOf(i, graph.SiLU, m.routing(i, false, false)), mlp{}, linear{})
	} else {
		l.ffn = feeds(m.gated(i), graph.SiLU)
	}
	return l
}

// jambaNames are the names of SafeTensors files.
var jambaNames = with(besideMamba, map[string]string{
	"mamba.x_proj": "ssm_x", "mamba.dt_proj": "ssm_dt", "mamba.dt_layernorm": "ssm_dt_norm", "mamba.b_layernorm": "ssm_b_norm", "mamba.c_layernorm": "ssm_c_norm",
	"pre_ff_layernorm": "ffn_norm", "feed_forward.gate_proj": "ffn_gate", "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down", "feed_forward.router": "ffn_gate_inp",
	"feed_forward.experts.EXPERT.gate_proj": "ffn_gate_exps", "feed_forward.experts.EXPERT.up_proj": "ffn_up_exps", "feed_forward.experts.EXPERT.down_proj": "ffn_down_exps",
	"feed_forward.experts.gate_up_proj": "ffn_gate_up_exps", "feed_forward.experts.down_proj": "ffn_down_exps",
})

var jambaDefaults = map[string]any{
	"attn_layer_period": int64(8), "attn_layer_offset": int64(4), "num_key_value_heads": int64(8),
	"num_experts": int64(16), "num_experts_per_tok": int64(2), "mamba_d_conv": int64(4), "mamba_d_state": int64(16), "mamba_expand": int64(2),
}

// jambaConfig reads what config.json has of its own.
func jambaConfig(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"ssm.conv_kernel": "mamba_d_conv", "ssm.state_size": "mamba_d_state"})
	hidden := c.int("hidden_size", 0)
	put("ssm.inner_size", c.int("mamba_expand", 0)*hidden)
	if rank := c.m["mamba_dt_rank"]; rank == nil || rank == "auto" {
		put("ssm.time_step_rank", (hidden+15)/16)
	} else {
		c.sizes(put, map[string]string{"ssm.time_step_rank": "mamba_dt_rank"})
	}
	heads := c.int("num_key_value_heads", 0)
	kv := make([]int64, max(0, min(maxLayers, c.int("num_hidden_layers", 0))))
	period, offset := c.int("attn_layer_period", 0), c.int("attn_layer_offset", 0)
	for i := range kv {
		if period > 0 && int64(i)%period == offset {
			kv[i] = heads
		}
	}
	if c.m["layers_block_type"] != nil {
		kv = c.kinds("layers_block_type", map[string]int64{"mamba": 0, "attention": heads})
	}
	put("attention.head_count_kv", kv)
	if c.int("num_experts", 0) > 1 { // one is a block without a router
		experts(c, put)
	}
}
