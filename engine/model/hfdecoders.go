package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// What SafeTensors files of some of decoders have of their own.

var (
	internlm2Names = map[string]string{
		"attention_norm": "attn_norm", "ffn_norm": "ffn_norm", "attention.wqkv": "attn_qkv", "attention.wo": "attn_output",
		"feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
	}
	exaoneNames = map[string]string{
		"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.attention.q_proj": "attn_q", "attn.attention.k_proj": "attn_k", "attn.attention.v_proj": "attn_v",
		"attn.attention.out_proj": "attn_output", "mlp.c_fc_0": "ffn_gate", "mlp.c_fc_1": "ffn_up", "mlp.c_proj": "ffn_down",
	}
	gptNames  = map[string]string{"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output"}
	neoxNames = map[string]string{"attention.query_key_value": "attn_qkv", "attention.dense": "attn_output"}

	hunyuanNames = map[string]string{
		"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm", "mlp.gate.wg": "ffn_gate_inp",
		"mlp.shared_mlp.gate_proj": "ffn_gate_shexp", "mlp.shared_mlp.up_proj": "ffn_up_shexp", "mlp.shared_mlp.down_proj": "ffn_down_shexp",
	}
	bailingNames = map[string]string{
		"attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "attention.query_layernorm": "attn_q_norm", "attention.key_layernorm": "attn_k_norm",
		"mlp.gate.expert_bias": "exp_probs_b.bias",
	}
	apertusNames = map[string]string{
		"attention_layernorm": "attn_norm", "feedforward_layernorm": "ffn_norm",
		"mlp.act_fn.alpha_p": "xielu.alpha_p", "mlp.act_fn.alpha_n": "xielu.alpha_n", "mlp.act_fn.beta": "xielu.beta", "mlp.act_fn.eps": "xielu.eps",
	}
)

// stableNames has a norm for every head, which are stacked.
func stableNames() map[string]string {
	names := make(map[string]string)
	for head := range 256 {
		for _, k := range []string{"q", "k"} {
			names[fmt.Sprintf("self_attn.%s_layernorm.norms.%d", k, head)] = fmt.Sprintf("attn_%s_norm/%d", k, head)
		}
	}
	return names
}

// groupedQKV takes query, key and value rows that lie by key head apart.
func (tr *translation) groupedQKV(t *weights.Tensor) (bool, error) {
	if !strings.Contains(t.Name, ".attn_qkv.") {
		return false, nil
	}
	if err := tr.ungroup(t); err != nil {
		return true, err
	}
	return true, tr.splitQKV(t)
}

// groupedNeoX puts the rows of every head's query, key and value in the order of all queries,
// all keys and all values.
func (tr *translation) groupedNeoX(t *weights.Tensor) (bool, error) {
	if !strings.Contains(t.Name, ".attn_qkv.") {
		return false, nil
	}
	if err := tr.ungroup(t); err != nil {
		return true, err
	}
	return true, tr.put(t)
}

// splitQKV adds the query, key and value rows of a fused projection.
func (tr *translation) splitQKV(t *weights.Tensor) error {
	heads, kv := tr.headCounts()
	if heads < 1 || kv < 1 || len(t.Shape) == 0 || int64(t.Shape[0])%(heads+2*kv) != 0 {
		return fmt.Errorf("%w: tensor %s has shape %v, for %d heads and %d key heads", ErrFormat, t.Name, t.Shape, heads, kv)
	}
	head, at := t.Shape[0]/int(heads+2*kv), 0
	for _, part := range []struct {
		name  string
		heads int64
	}{{"attn_q", heads}, {"attn_k", kv}, {"attn_v", kv}} {
		n := head * int(part.heads)
		if err := tr.put(rowsOf(strings.Replace(t.Name, "attn_qkv", part.name, 1), t, at, n)); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// transposed turns GPT-2's matrices, which are (in, out).
func (tr *translation) transposed(t *weights.Tensor) (bool, error) {
	if len(t.Shape) != 2 || !strings.HasPrefix(t.Name, "blk.") {
		return false, nil
	}
	return true, tr.put(transposed(t.Name, t, 0, t.Shape[1]))
}

func miniCPMConfig(c *hfConfig, put func(string, any)) {
	numbers := make(map[string]float64)
	for key, def := range map[string]float64{"scale_emb": 1, "scale_depth": 1, "dim_model_base": 1} {
		v, ok := number(c.m[key])
		if c.m[key] == nil {
			v, ok = def, true
		}
		if !ok || !(v > 0) || math.IsInf(v, 0) {
			c.fail("%s is %v, want a number above 0", key, c.m[key])
			return
		}
		numbers[key] = v
	}
	layers := c.int("num_hidden_layers", 0)
	if layers < 1 {
		c.fail("num_hidden_layers is %d", layers)
		return
	}
	put("embedding_scale", numbers["scale_emb"])
	put("residual_scale", numbers["scale_depth"]/math.Sqrt(float64(layers)))
	put("logit_scale", float64(c.int("hidden_size", 0))/numbers["dim_model_base"])
}

// miniCPM3Sizes are those of latent attention, in the keys of files that keep kv_b whole.
func miniCPM3Sizes(c *hfConfig, put func(string, any)) {
	l := latentOf(c)
	if n := c.int("q_lora_rank", 0); n > 0 {
		put("attention.q_lora_rank", n)
	}
	put("attention.kv_lora_rank", int64(l.rank))
	put("attention.key_length", int64(l.nope+l.rotate))
	put("attention.value_length", int64(l.value))
	put("rope.dimension_count", int64(l.rotate))
}

// miniCPM3Rotary rotates a part of a head that has a size of its own.
func miniCPM3Rotary(c *hfConfig, put func(string, any)) []*weights.Tensor {
	return c.rotary(int64(latentOf(c).rotate), put)
}

// keptKV leaves kv_b in one tensor.
func (tr *translation) keptKV(t *weights.Tensor) (bool, error) {
	if !strings.HasSuffix(t.Name, ".attn_kv_b.weight") {
		return false, nil
	}
	return true, tr.put(t)
}

// sideBySide reports whether blocks are, as a family has it where config.json does not.
func sideBySide(def bool) func(*hfConfig, func(string, any)) {
	return func(c *hfConfig, put func(string, any)) {
		side, ok := c.m["use_parallel_residual"].(bool)
		put("use_parallel_residual", side || !ok && def)
	}
}

func neoxConfig(c *hfConfig, put func(string, any)) {
	if slices.Contains(geluTanh, c.m["hidden_act"]) {
		put(neoxActivation, "gelu_tanh")
	}
}

func olmoConfig(c *hfConfig, put func(string, any)) {
	put("attention.layer_norm_epsilon", 1e-5) // no setting
	if v := c.m["clip_qkv"]; v != nil {
		put("attention.clamp_kqv", v)
	}
}

func oneKeyHead(_ *hfConfig, put func(string, any)) { put("attention.head_count_kv", int64(1)) }

// apertusArch stretches positions as transformers does where config.json does not say.
func apertusArch(c *hfConfig) string {
	if c.rope == nil {
		c.rope = map[string]any{"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": int64(8192), "low_freq_factor": 1.0, "high_freq_factor": 4.0}
	}
	return "apertus"
}

// takeXIELU reads a number of a layer's activation; GGUF files have a list of those of all
// layers. Two of them are settings that files may leave out.
func (tr *translation) takeXIELU(t *weights.Tensor) (bool, error) {
	_, key, ok := strings.Cut(t.Name, ".xielu.")
	if !ok {
		return false, nil
	}
	layers := int(tr.c.int("num_hidden_layers", 0))
	layer := layerOf(t.Name, "blk.")
	if t.Elems() != 1 || layer < 0 || layer >= layers || layers > maxLayers {
		return true, fmt.Errorf("%w: tensor %s has shape %v in a model of %d layers, want one number", ErrFormat, t.Name, t.Shape, layers)
	}
	data, err := t.Read()
	if err != nil {
		return true, err
	}
	for _, k := range xielu {
		if tr.to.Meta.Floats(k) == nil {
			tr.to.Meta.Set(k, slices.Repeat([]float64{map[string]float64{"xielu.alpha_p": math.NaN(), "xielu.alpha_n": math.NaN(), "xielu.beta": 0.5, "xielu.eps": -1e-6}[k]}, layers))
		}
	}
	var x [1]float32
	t.Type.Layout().Decode(x[:], data)
	tr.to.Meta.Floats("xielu." + strings.TrimSuffix(key, ".weight"))[layer] = float64(x[0])
	return true, nil
}

// hunyuanConfig reads what may be said by layer, and has to be the same in all.
func hunyuanConfig(c *hfConfig, put func(string, any)) {
	same := func(key string) int64 {
		v := c.m[key]
		if list, ok := v.([]any); ok && len(list) > 0 {
			for _, x := range list {
				if x != list[0] {
					c.refuse("%s that differs between layers", key)
				}
			}
			v = list[0]
		}
		n, _ := v.(int64)
		return n
	}
	for key, from := range map[string]string{
		"expert_count": "num_experts", "expert_used_count": "moe_topk", "expert_feed_forward_length": "moe_intermediate_size", "expert_shared_count": "num_shared_expert",
	} {
		if n := same(from); n > 0 {
			put(key, n)
		}
	}
	if n := same("num_shared_expert"); n <= maxExperts {
		put("expert_shared_feed_forward_length", max(1, n)*c.int("intermediate_size", 0))
	}
	if drop, ok := c.m["moe_layer_num_skipped"].(int64); ok {
		put("leading_dense_block_count", drop)
	}
}

// dotsConfig: its scores are sigmoids, whatever they are called.
func dotsConfig(c *hfConfig, _ func(string, any)) {
	if s := c.m["scoring_func"]; s == nil || s == "noaux_tc" {
		c.m["scoring_func"] = "sigmoid"
	}
	types, _ := c.m["layer_types"].([]any)
	layers := c.int("num_hidden_layers", 0)
	if slices.Contains(types, "sliding_attention") || types == nil && c.m["sliding_window"] != nil && c.int("max_window_layers", layers) < layers {
		c.refuse("a sliding window on some layers of %s", c.kind)
	}
}

// bailingArch tells the second kind by what only it has.
func bailingArch(c *hfConfig) string {
	if c.kind != "bailing_moe_v2" && c.m["score_function"] == nil && !c.flag("use_qk_norm") {
		return "bailingmoe"
	}
	if c.m["partial_rotary_factor"] == nil && c.rope["partial_rotary_factor"] == nil {
		c.m["partial_rotary_factor"] = 0.5
	}
	return "bailingmoe2"
}

func bailingConfig(c *hfConfig, put func(string, any)) {
	second := c.arch == "bailingmoe2"
	if second {
		if c.m["scoring_func"] = c.m["score_function"]; c.m["scoring_func"] == nil {
			c.m["scoring_func"] = "sigmoid"
		}
	}
	routedExperts(c, put)
	shared := c.int("num_shared_experts", 0)
	if shared < 0 || shared > maxExperts {
		c.fail("num_shared_experts is %d", shared)
		return
	}
	put("expert_shared_count", shared)
	if !second {
		put("expert_weights_scale", 1.0)
		return
	}
	put("expert_shared_feed_forward_length", c.int("moe_shared_expert_intermediate_size", c.int("moe_intermediate_size", 0)*shared))
}

// changeBailing takes the first kind's projections apart, and makes the columns of a head that
// is normed as long as they are used.
func (tr *translation) changeBailing(t *weights.Tensor) (bool, error) {
	switch {
	case tr.f.arch == "bailingmoe" && strings.Contains(t.Name, ".attn_qkv."):
		return true, tr.splitQKV(t)
	case t.Name == "output.weight" && tr.c.flag("norm_head") && len(t.Shape) == 2:
		w := &weights.Tensor{Name: t.Name, Type: quant.F32, Shape: t.Shape}
		compute(w, t, func(x []float32) []float32 {
			length := make([]float64, t.Shape[1])
			for i, v := range x {
				length[i%len(length)] += float64(v) * float64(v)
			}
			for i, v := range x {
				x[i] = float32(float64(v) / (math.Sqrt(length[i%len(length)]) + 1e-7))
			}
			return x
		})
		return true, tr.put(w)
	}
	return false, nil
}

// What those of older decoders, and of the newest mixtures, have.

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
