package model

import (
	"maps"
	"slices"
	"sync"
)

// What config.json may say that changes what a model computes. A value that
// quern does not compute is refused by name; keys that change nothing (how the
// model was trained, which program wrote the file) are not looked at.

// hfOff are switches and factors of transformers' models, with the values that
// leave a model as it is; null does as well. Families that read a key name it in
// hfFamily.reads.
var hfOff = sync.OnceValue(func() map[string][]any {
	return map[string][]any{
		"add_cross_attention":         {false},
		"alibi":                       {false},
		"attention_multiplier":        {},
		"attn_logit_softcapping":      {0.0},
		"attn_temperature_tuning":     {false, 0.0},
		"clip_qkv":                    {0.0},
		"embedding_multiplier":        {1.0},
		"final_logit_softcapping":     {0.0},
		"hidden_size_per_layer_input": {0.0},
		"is_causal":                   {true},
		"key_multiplier":              {1.0},
		"lm_head_multiplier":          {1.0},
		"logit_scale":                 {1.0},
		"logits_scaling":              {1.0},
		"moe_every_n_layers":          {0.0},
		"n_group":                     {1.0},
		"num_kv_shared_layers":        {0.0},
		"residual_multiplier":         {1.0},
		"routed_scaling_factor":       {1.0},
		"router_logit_softcapping":    {0.0},
		"scale_depth":                 {},
		"scale_emb":                   {1.0},
		"scoring_func":                {"softmax"},
		"topk_group":                  {1.0},
		"use_bidirectional_attention": {false},
	}
})

// Spellings of activations.
var (
	silu     = []any{"silu", "swish"}
	gelu     = []any{"gelu"}
	geluTanh = []any{"gelu_pytorch_tanh", "gelu_new", "gelu_fast"}
)

// hfOnly are the values that keys of a family may have, beside null.
var hfOnly = sync.OnceValue(func() map[string]map[string][]any {
	return map[string]map[string][]any{
		"llama":            {"hidden_act": silu},
		"mistral":          {"hidden_act": silu},
		"mixtral":          {"hidden_act": silu},
		"smollm3":          {"hidden_act": silu},
		"qwen2":            {"hidden_act": silu},
		"qwen3":            {"hidden_act": silu},
		"qwen2_moe":        {"hidden_act": silu},
		"qwen3_moe":        {"hidden_act": silu},
		"phi":              {"hidden_act": geluTanh, "qk_layernorm": {false}},
		"phi3":             {"hidden_act": silu},
		"phimoe":           {"hidden_act": silu},
		"falcon":           {"activation": gelu},
		"starcoder2":       {"hidden_act": geluTanh, "norm_type": {"layer_norm"}, "mlp_type": {"default"}},
		"olmo2":            {"hidden_act": silu, "sliding_window": {}},
		"olmo3":            {"hidden_act": silu},
		"exaone4":          {"hidden_act": silu},
		"seed_oss":         {"hidden_act": silu},
		"ernie4_5":         {"hidden_act": silu},
		"cohere":           {"hidden_act": silu, "use_qk_norm": {false, true}, "use_parallel_block": {true}},
		"cohere2":          {"hidden_act": silu, "use_qk_norm": {false}, "use_parallel_block": {true}},
		"deepseek_v2":      {"hidden_act": silu},
		"deepseek_v3":      {"hidden_act": silu},
		"kimi_k2":          {"hidden_act": silu},
		"glm4_moe_lite":    {"hidden_act": silu},
		"mistral4":         {"hidden_act": silu},
		"ministral3":       {"hidden_act": silu},
		"llama4":           {"hidden_act": silu},
		"llama4_text":      {"hidden_act": silu},
		"qwen3_next":       {"hidden_act": silu, "attention_bias": {false}},
		"qwen3_5":          {"hidden_act": silu, "attention_bias": {false}},
		"qwen3_5_text":     {"hidden_act": silu, "attention_bias": {false}},
		"qwen3_5_moe":      {"hidden_act": silu, "attention_bias": {false}},
		"qwen3_5_moe_text": {"hidden_act": silu, "attention_bias": {false}},
		"falcon_h1":        {"hidden_act": silu, "mamba_proj_bias": {false}, "projectors_bias": {false}, "mamba_use_mlp": {true}},
		"mamba":            {"hidden_act": silu, "use_bias": {false}},
		"falcon_mamba":     {"hidden_act": silu, "use_bias": {false}},
		"mamba2":           {"hidden_act": silu, "use_bias": {false}, "rms_norm": {true}},
		"nemotron_h":       {"mlp_hidden_act": {"relu2"}, "mamba_hidden_act": silu, "use_bias": {false}},
		"jamba":            {"hidden_act": silu, "mamba_conv_bias": {true}, "mamba_proj_bias": {false}},
		"glm":              {"hidden_act": silu},
		"glm4":             {"hidden_act": silu},
		"granitemoe":       {"hidden_act": silu},
		"granitemoeshared": {"hidden_act": silu},
		"granitemoehybrid": {"hidden_act": silu, "mamba_proj_bias": {false}},
		"lfm2":             {"conv_bias": {false, true}},
		"lfm2_moe":         {"conv_bias": {false, true}},
		"glm4_moe":         {"hidden_act": silu},
		"minimax_m2":       {"hidden_act": silu, "use_qk_norm": {true}},
		"ernie4_5_moe":     {"hidden_act": silu, "moe_use_aux_free": {true, false}},
		"hunyuan_v1_dense": {"hidden_act": silu, "use_qk_norm": {true}, "use_cla": {false}},
		"qwen2_vl":         {"hidden_act": silu},
		"qwen2_5_vl":       {"hidden_act": silu},
		"qwen3_vl":         {"hidden_act": silu},
		"qwen3_vl_moe":     {"hidden_act": silu},
		"granite":          {"hidden_act": silu},
		"gpt_oss":          {"hidden_act": silu},
		"gemma2":           {"hidden_activation": geluTanh},
		"gemma3":           {"hidden_activation": geluTanh},
		"gemma3_text":      {"hidden_activation": geluTanh},
		"bert":             {"hidden_act": gelu, "is_decoder": {false}},
		"xlm-roberta":      {"hidden_act": gelu, "is_decoder": {false}},
		"roberta":          {"hidden_act": gelu, "is_decoder": {false}},
		"camembert":        {"hidden_act": gelu, "is_decoder": {false}},
		"modernbert":       {"hidden_activation": append(gelu, silu[0]), "classifier_activation": gelu},
		gemmaEncoder:       {"hidden_activation": geluTanh},
		jinaBert:           {"hidden_act": gelu, "is_decoder": {false}, "feed_forward_type": {"geglu"}},
		"nomic_bert": {
			"activation_function": {"swiglu"}, "prenorm": {false}, "parallel_block": {false}, "use_rms_norm": {false},
			"rotary_emb_interleaved": {false}, "rotary_emb_scale_base": {}, "scale_attn_weights": {true}, "scale_attn_by_inverse_layer_idx": {false},
		},

		"gemma":          {"hidden_activation": geluTanh, "attention_bias": {false}},
		"bloom":          {"apply_residual_connection_post_layernorm": {false}},
		"mpt":            {"norm_type": {"low_precision_layernorm", "layernorm"}},
		"opt":            {"activation_function": {"relu"}, "do_layer_norm_before": {true}, "enable_bias": {true}, "layer_norm_elementwise_affine": {true}, "_remove_final_layer_norm": {false}},
		"gptj":           {"activation_function": geluTanh, "scale_attn_weights": {true}},
		"qwen":           {"scale_attn_weights": {true}, "no_bias": {true}, "rotary_pct": {1.0}},
		"mimo":           {"hidden_act": silu},
		"deepseek":       {"hidden_act": silu, "moe_layer_freq": {1.0}},
		"afmoe":          {"hidden_act": silu, "mup_enabled": {true}, "score_func": {"sigmoid"}, "num_expert_groups": {1.0}, "num_limited_groups": {1.0}},
		"exaone_moe":     {"hidden_act": silu},
		"arcee":          {"hidden_act": {"relu2"}},
		"internlm2":      {"hidden_act": silu},
		"internlm3":      {"hidden_act": silu},
		"minicpm":        {"hidden_act": silu, "num_experts": {0.0}, "sparse_config": {}},
		"minicpm3":       {"hidden_act": silu, "sparse_config": {}},
		"exaone":         {"activation_function": silu},
		"nemotron":       {"hidden_act": {"relu2"}},
		"stablelm":       {"hidden_act": silu},
		"olmo":           {"hidden_act": silu},
		"apertus":        {"hidden_act": {"xielu"}, "qk_norm": {true}, "post_norm": {false}},
		"gpt2":           {"activation_function": geluTanh, "scale_attn_weights": {true}, "scale_attn_by_inverse_layer_idx": {false}},
		"gpt_bigcode":    {"activation_function": geluTanh, "scale_attn_weights": {true}, "multi_query": {true}},
		"gpt_neox":       {"hidden_act": append(gelu, geluTanh...)},
		"olmoe":          {"hidden_act": silu},
		"hunyuan_v1_moe": {"hidden_act": silu, "use_qk_norm": {true}, "use_cla": {false}, "use_mla": {false}, "use_mixed_mlp_moe": {true}, "norm_topk_prob": {true}},
		"hunyuan":        {"hidden_act": silu, "use_qk_norm": {true}, "use_cla": {false}, "use_mla": {false}, "use_mixed_mlp_moe": {true}, "norm_topk_prob": {true}},
		"dots1":          {"hidden_act": silu},
		"bailing_moe":    {"hidden_act": silu, "norm_softmax": {false}, "use_rmsnorm": {true}},
		"bailing_moe_v2": {"hidden_act": silu, "norm_softmax": {false}, "use_rmsnorm": {true}, "use_qk_norm": {true}},

		"gemma3n":             gemma3nOnly,
		"gemma3n_text":        gemma3nOnly,
		"gemma4":              gemma4Only,
		"gemma4_text":         gemma4Only,
		"gemma4_unified":      gemma4Only,
		"gemma4_unified_text": gemma4Only,
		"rwkv7":               rwkv7Only,
	}
})

// hfRope are the keys that rope_parameters or rope_scaling may have: those that
// rotary reads, and three that transformers does not read either.
var hfRope = []string{
	"rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings", "max_position_embeddings", "partial_rotary_factor",
	"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate",
	"low_freq_factor", "high_freq_factor", "long_factor", "short_factor", "long_mscale", "short_mscale",
	"full_attention", "sliding_attention", "mrope_section", "mrope_interleaved",
	"attn_factor", "extrapolation_factor", "finetuned", "alpha", "llama_4_scaling_beta", "apply_scale", "apply_yarn_scaling",
}

// refuseUnknown refuses what changes the model and quern does not compute.
func (c *hfConfig) refuseUnknown(reads []string) {
	for _, set := range []map[string][]any{hfOff(), hfOnly()[c.kind]} {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			v := c.m[key]
			if n, ok := number(v); ok {
				v = n
			}
			if v != nil && !slices.Contains(reads, key) && !slices.Contains(set[key], v) {
				c.refuse("%s of %v in a model of type %s", key, c.m[key], c.kind)
			}
		}
	}
	rope := []map[string]any{c.rope}
	for _, kind := range []string{"full_attention", "sliding_attention"} {
		inner, _ := c.rope[kind].(map[string]any)
		rope = append(rope, inner)
	}
	for _, m := range rope {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if m[key] != nil && !slices.Contains(hfRope, key) {
				c.refuse("rope parameter %.100q", key)
			}
		}
	}
}
