package model

// What SafeTensors files of older decoders, and of the newest mixtures, have of their own.

var (
	mptNames = map[string]string{"norm_1": "attn_norm", "norm_2": "ffn_norm", "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down"}
	optNames = map[string]string{
		"self_attn_layer_norm": "attn_norm", "final_layer_norm": "ffn_norm", "self_attn.out_proj": "attn_output", "fc1": "ffn_up", "fc2": "ffn_down",
	}
	gptjNames = map[string]string{
		"ln_1": "attn_norm", "attn.q_proj": "attn_q", "attn.k_proj": "attn_k", "attn.v_proj": "attn_v", "mlp.fc_in": "ffn_up", "mlp.fc_out": "ffn_down",
	}
	qwenNames = map[string]string{
		"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.w1": "ffn_up", "mlp.w2": "ffn_gate", "mlp.c_proj": "ffn_down",
	}
	afmoeNames = map[string]string{
		"self_attn.gate_proj": "attn_gate", "post_attention_layernorm": "post_attention_norm", "pre_mlp_layernorm": "ffn_norm", "post_mlp_layernorm": "post_ffw_norm",
		"mlp.router.gate": "ffn_gate_inp", "mlp.expert_bias": "exp_probs_b.bias",
	}
)

func bloomConfig(c *hfConfig, put func(string, any)) {
	put("context_length", c.int("seq_length", 2048))
}

// mptConfig reads what attention has a part of config.json for.
func mptConfig(c *hfConfig, put func(string, any)) {
	a, _ := c.m["attn_config"].(map[string]any)
	for key, want := range map[string]any{
		"attn_type": "multihead_attention", "alibi": true, "qk_ln": false, "prefix_lm": false, "softmax_scale": nil, "rope": false, "sliding_window_size": int64(-1),
	} {
		if v := a[key]; v != nil && v != want || v == nil && key == "alibi" {
			c.refuse("attn_config.%s of %v in a model of type %s", key, v, c.kind)
		}
	}
	bias, ok := number(a["alibi_bias_max"])
	if a["alibi_bias_max"] == nil {
		bias, ok = 8, true
	}
	if !ok || !(bias > 0) {
		c.fail("attn_config.alibi_bias_max is %v, want a number above 0", a["alibi_bias_max"])
	}
	put("attention.max_alibi_bias", bias)
	if v := a["clip_qkv"]; v != nil {
		put("attention.clamp_kqv", v)
	}
	if n := a["kv_n_heads"]; n != nil {
		put("attention.head_count_kv", n)
	}
	if n, ratio := c.int("d_model", 0), c.int("expansion_ratio", 4); n > 0 && n <= maxWidth && ratio > 0 && ratio <= maxWidth {
		put("feed_forward_length", n*ratio)
	}
}

// optConfig: the smallest but one norms behind its blocks, and has embeddings of another width.
func optConfig(c *hfConfig, _ func(string, any)) {
	if n, hidden := c.int("word_embed_proj_dim", 0), c.int("hidden_size", 0); n != 0 && n != hidden {
		c.refuse("word_embed_proj_dim of %d beside a hidden_size of %d", n, hidden)
	}
}

func rotaryDim(c *hfConfig, put func(string, any)) {
	put("rope.dimension_count", c.int("rotary_dim", 0))
}

// qwenConfig: beyond the length of its training the first Qwen stretches positions and sharpens
// scores as a text grows. Quern serves it as far as that.
func qwenConfig(c *hfConfig, put func(string, any)) {
	if n := c.int("seq_length", 0); n > 0 {
		put("context_length", n)
	}
	if n, heads := c.int("kv_channels", 0), c.int("num_attention_heads", 0); n > 0 && n*heads != c.int("hidden_size", 0) {
		c.refuse("kv_channels of %d with %d heads and a hidden_size of %d", n, heads, c.int("hidden_size", 0))
	}
}

func afmoeConfig(c *hfConfig, put func(string, any)) {
	put("expert_gating_func", int64(2))
	put("expert_shared_count", c.int("num_shared_experts", 0))
	put("leading_dense_block_count", c.int("num_dense_layers", 0))
	put("expert_weights_norm", c.m["route_norm"] == nil || c.flag("route_norm"))
	if v, ok := number(c.m["route_scale"]); ok {
		put("expert_weights_scale", v)
	}
	if n := c.int("global_attn_every_n_layers", 0); n > 0 && c.m["layer_types"] == nil {
		c.m["sliding_window_pattern"] = n
	}
}

func exaoneMoE(c *hfConfig, put func(string, any)) {
	n := c.int("num_shared_experts", 0)
	put("expert_shared_count", n)
	if n > 0 && n <= maxExperts {
		put("expert_shared_feed_forward_length", n*c.int("moe_intermediate_size", 0))
	}
}
