package model

import (
	"maps"
	"math"
	"slices"
)

// The names and keys of SafeTensors files of hybrids.

var (
	qwenNextNames = map[string]string{
		"linear_attn.in_proj_qkvz": "ssm_in", "linear_attn.in_proj_ba": "ssm_ba",
		"linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.in_proj_b": "ssm_beta",
		"linear_attn.conv1d": "ssm_conv1d", "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.A_log": "ssm_a", "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
		"post_attention_layernorm": "post_attention_norm",
	}
	mambaNames = map[string]string{
		"norm": "attn_norm", "mixer.in_proj": "ssm_in", "mixer.conv1d": "ssm_conv1d", "mixer.x_proj": "ssm_x", "mixer.dt_proj": "ssm_dt", "mixer.dt_bias": "ssm_dt.bias",
		"mixer.A_log": "ssm_a", "mixer.D": "ssm_d", "mixer.norm": "ssm_norm", "mixer.out_proj": "ssm_out",
	}
	besideMamba = map[string]string{
		"mamba.in_proj": "ssm_in", "mamba.conv1d": "ssm_conv1d", "mamba.dt_bias": "ssm_dt.bias", "mamba.A_log": "ssm_a", "mamba.D": "ssm_d", "mamba.norm": "ssm_norm", "mamba.out_proj": "ssm_out",
	}
	falconH1Names = with(besideMamba, map[string]string{
		"feed_forward.gate_proj": "ffn_gate", "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down", "pre_ff_layernorm": "ffn_norm",
	})
	graniteHybridNames = with(besideMamba, map[string]string{
		"shared_mlp.input_linear": "ffn_up", "shared_mlp.output_linear": "ffn_down",
		"block_sparse_moe.input_linear": "ffn_gate_up_exps", "block_sparse_moe.output_linear": "ffn_down_exps", "block_sparse_moe.router.layer": "ffn_gate_inp",
	})
	lfm2Names = map[string]string{
		"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj",
		"feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
		"self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
		"feed_forward.gate": "ffn_gate_inp", "feed_forward.expert_bias": "exp_probs_b.bias",
		"feed_forward.experts.gate_up_proj": "ffn_gate_up_exps", "feed_forward.experts.down_proj": "ffn_down_exps",
	}
)

func with(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// sizes puts integers under GGUF's keys; each must be there.
func (c *hfConfig) sizes(put func(string, any), keys map[string]string) {
	for _, to := range slices.Sorted(maps.Keys(keys)) {
		from := keys[to]
		n := c.int(from, 0)
		if n < 1 || n > maxWidth {
			c.fail("%s is %v, outside 1 to %d", from, c.m[from], maxWidth)
		}
		put(to, n)
	}
}

// kinds returns what a list under key says of each layer by a table, which has all there are.
func (c *hfConfig) kinds(key string, table map[string]int64) []int64 {
	list, _ := c.m[key].([]any)
	out := make([]int64, len(list))
	for i, v := range list {
		s, _ := v.(string)
		n, ok := table[s]
		if !ok {
			c.refuse("layers of type %v in a model of type %s", v, c.kind)
		}
		out[i] = n
	}
	return out
}

func qwenNext(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{
		"ssm.conv_kernel": "linear_conv_kernel_dim", "ssm.state_size": "linear_key_head_dim", "ssm.group_count": "linear_num_key_heads", "ssm.time_step_rank": "linear_num_value_heads",
	})
	put("ssm.inner_size", c.int("linear_num_value_heads", 0)*c.int("linear_value_head_dim", 0))
	every := c.int("full_attention_interval", 4)
	put("full_attention_interval", every)
	usual := true
	recurrent := make([]bool, 0)
	for i, n := range c.kinds("layer_types", map[string]int64{"linear_attention": 1, "full_attention": 0}) {
		recurrent = append(recurrent, n == 1)
		usual = usual && every > 0 && (n == 0) == (int64(i+1)%every == 0)
	}
	if !usual {
		put("attention.recurrent_layers", recurrent)
	}
	if v, ok := c.m["attn_output_gate"].(bool); ok && !v {
		c.refuse("attn_output_gate of false in a model of type %s", c.kind)
	}
	experts(c, put)
	if c.arch != "qwen3next" {
		sections(c, put)
	}
}

func mambaConfig(c *hfConfig, put func(string, any)) {
	put("feed_forward_length", int64(0))
	put("attention.head_count", int64(0))
	put("attention.head_count_kv", int64(0))
	if c.first("max_position_embeddings") == nil {
		put("context_length", int64(1<<20)) // a state does not end
	}
	hidden := c.int("hidden_size", 0)
	if !c.flag("use_conv_bias") && c.m["use_conv_bias"] != nil {
		c.refuse("use_conv_bias of false in a model of type %s", c.kind)
	}
	if c.kind == "mamba2" {
		c.sizes(put, map[string]string{"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "state_size", "ssm.group_count": "n_groups", "ssm.time_step_rank": "num_heads"})
		put("ssm.inner_size", c.int("num_heads", 0)*c.int("head_dim", 0))
		return
	}
	c.sizes(put, map[string]string{"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "state_size", "ssm.time_step_rank": "time_step_rank"})
	put("ssm.inner_size", c.int("intermediate_size", c.int("expand", 2)*hidden))
	put("ssm.dt_b_c_rms", c.kind == "falcon_mamba")
	if c.kind == "falcon_mamba" {
		inner, ok1 := number(c.m["mixer_rms_eps"])
		if outer, ok2 := number(c.first("layer_norm_epsilon")); ok1 && ok2 && inner != outer {
			c.refuse("mixer_rms_eps of %v beside layer_norm_epsilon of %v", inner, outer)
		}
	}
}

func besideMambaConfig(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"ssm.conv_kernel": "mamba_d_conv", "ssm.state_size": "mamba_d_state", "ssm.group_count": "mamba_n_groups", "ssm.time_step_rank": "mamba_n_heads"})
	inner := c.int("mamba_d_ssm", 0)
	if inner == 0 {
		inner = c.int("mamba_n_heads", 0) * c.int("mamba_d_head", 0)
	}
	put("ssm.inner_size", inner)
}

func falconH1Config(c *hfConfig, put func(string, any)) {
	besideMambaConfig(c, put)
	if c.flag("mamba_rms_norm") { // without it mamba_norm_before_gate says nothing
		c.refuse("mamba_rms_norm in a model of type %s", c.kind)
	}
}

// graniteArch is the architecture of Granite 4 with layers of Mamba-2, or without.
func graniteArch(c *hfConfig) string {
	list, _ := c.m["layer_types"].([]any)
	switch {
	case len(list) == 0 || slices.Contains(list, any("mamba")):
		return "granitehybrid"
	case c.int("num_local_experts", 0) > 0:
		return "granitemoe"
	}
	return "granite"
}

func graniteHybridConfig(c *hfConfig, put func(string, any)) {
	granite(c, put)
	if c.arch == "granitehybrid" {
		graniteLayers(c, put)
	} else if t := c.m["position_embedding_type"]; t != nil && t != "rope" {
		put("rope.scaling.finetuned", false)
	}
	if n := c.int("num_local_experts", 0); n > 0 {
		experts(c, put)
		put("expert_feed_forward_length", c.int("intermediate_size", 0))
		if n := c.int("shared_intermediate_size", 0); n > 0 {
			put("expert_shared_feed_forward_length", n)
		}
	} else {
		put("feed_forward_length", c.int("shared_intermediate_size", 0))
	}
}

// graniteLayers says which layers are Mamba-2 and which attention.
func graniteLayers(c *hfConfig, put func(string, any)) {
	besideMambaConfig(c, put)
	kv := c.kinds("layer_types", map[string]int64{"mamba": 0, "attention": c.int("num_key_value_heads", c.int("num_attention_heads", 0))})
	put("attention.head_count_kv", kv)
	put("rope.scaling.finetuned", c.m["position_embedding_type"] == "rope")
}

func lfm2Config(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"shortconv.l_cache": "conv_L_cache"})
	put("attention.head_count_kv", c.kinds("layer_types", map[string]int64{"conv": 0, "full_attention": c.int("num_key_value_heads", 0)}))
	if c.int("block_ff_dim", 0) > 0 || c.flag("block_auto_adjust_ff_dim") {
		ff := c.int("block_ff_dim", c.int("intermediate_size", 0))
		if c.flag("block_auto_adjust_ff_dim") {
			width := float64(2 * ff / 3)
			if m, ok := number(c.m["block_ffn_dim_multiplier"]); ok {
				width = math.Floor(m * width)
			}
			if of := c.int("block_multiple_of", 1); of > 0 {
				ff = (int64(width) + of - 1) / of * of
			}
		}
		put("feed_forward_length", ff)
	}
	if c.kind == "lfm2_moe" {
		routedExperts(c, put)
		put("leading_dense_block_count", c.int("num_dense_layers", 0))
		put("expert_gating_func", int64(2))
	}
}
