package model

import (
	"math"
	"slices"
	"strings"

	"quern/formats/weights"
)

// What config.json and the tensors of RWKV-7 say in terms of GGUF: those of Flash Linear
// Attention, which Hugging Face publishes.

// rwkv7Names are the names of SafeTensors files. A number behind a slash is the place in a
// tensor that GGUF files have in one.
var rwkv7Names = map[string]string{
	"attn.x_r": "time_mix_lerp_fused/0", "attn.x_w": "time_mix_lerp_fused/1", "attn.x_k": "time_mix_lerp_fused/2",
	"attn.x_v": "time_mix_lerp_fused/3", "attn.x_a": "time_mix_lerp_fused/4", "attn.x_g": "time_mix_lerp_fused/5",
	"attn.r_proj": "time_mix_receptance", "attn.k_proj": "time_mix_key", "attn.v_proj": "time_mix_value", "attn.o_proj": "time_mix_output",
	"attn.w_lora.lora.0": "time_mix_w1", "attn.w_lora.lora.2": "time_mix_w2",
	"attn.a_lora.lora.0": "time_mix_a1", "attn.a_lora.lora.2": "time_mix_a2",
	"attn.v_lora.lora.0": "time_mix_v1", "attn.v_lora.lora.2": "time_mix_v2",
	"attn.g_lora.lora.0": "time_mix_g1", "attn.g_lora.lora.2": "time_mix_g2",
	"attn.k_k": "time_mix_k_k", "attn.k_a": "time_mix_k_a", "attn.r_k": "time_mix_r_k",
	"attn.g_norm": "time_mix_ln", "pre_norm": "token_embd_norm", "attn_norm": "attn_norm", "ffn_norm": "attn_norm_2",
	"ffn.x_k": "channel_mix_lerp_k", "ffn.key": "channel_mix_key", "ffn.value": "channel_mix_value",
}

// changeRWKV7 names what GGUF files name by other rules: the biases of projections of low
// rank, and the norm of embeddings, which is in the first layer. What some files have to
// draw the first layer's values to themselves is not used.
func (tr *translation) changeRWKV7(t *weights.Tensor) (done bool, err error) {
	if name, ok := strings.CutSuffix(t.Name, "2.bias"); ok && strings.Contains(name, ".time_mix_") {
		t.Name = name + "0.weight"
	}
	layer0, first := strings.CutPrefix(t.Name, "blk.0.")
	switch {
	case strings.HasPrefix(layer0, "time_mix_v") && len(layer0) == len("time_mix_v0.weight"):
		return true, nil
	case first && strings.HasPrefix(layer0, "token_embd_norm."):
		t.Name = layer0
	case strings.HasSuffix(t.Name, ".time_mix_r_k.weight"):
		t.Shape = []int{t.Elems()}
	case strings.HasSuffix(t.Name, ".channel_mix_lerp_k.weight"):
		t.Shape = []int{1, 1, t.Elems()}
	}
	return false, nil
}

// finishRWKV7 puts something where llama.cpp wants what draws the first layer's values.
func (tr *translation) finishRWKV7() error {
	for _, n := range []string{"0", "1", "2"} {
		t, ok := tr.to.Tensor("blk.0.time_mix_a" + n + ".weight")
		if !ok {
			continue // its lack is found later
		}
		if err := tr.put(alias("blk.0.time_mix_v"+n+".weight", t)); err != nil {
			return err
		}
	}
	return nil
}

var rwkv7Only = map[string][]any{"hidden_act": {"sqrelu", "relu2"}, "norm_first": {true}, "norm_bias": {true}, "attn": {}}

// rwkv7Config reads what config.json has of its own.
func rwkv7Config(c *hfConfig, put func(string, any)) {
	hidden, head := c.int("hidden_size", 0), c.int("head_dim", 64)
	for _, key := range []string{"attention.head_count", "attention.head_count_kv"} {
		put(key, int64(0))
	}
	put("context_length", int64(1<<20)) // a state does not end
	if head < 1 || hidden < 1 || hidden > maxWidth || hidden%head != 0 {
		c.fail("head_dim is %d for a hidden_size of %d", head, hidden)
		return
	}
	if n := c.int("num_heads", hidden/head); n != hidden/head {
		c.refuse("num_heads of %d with heads of %d and a hidden_size of %d", n, head, hidden)
	}
	wide := []any{nil, hidden}
	values, _ := c.m["value_dim"].([]any)
	if values == nil {
		values = []any{c.m["value_dim"]}
	}
	for _, v := range values {
		if !slices.Contains(wide, v) {
			c.refuse("value_dim of %v in a model of type %s", v, c.kind)
		}
	}
	put("wkv.head_size", head)
	if v, ok := number(c.m["norm_eps"]); ok {
		if eps := float64(head) * v; math.Abs(eps-rwkvNormEps) > 1e-6*rwkvNormEps {
			put("wkv.norm_epsilon", eps)
		}
	}
	// Ranks that are left out follow from the width, in whole 32s.
	for _, r := range []struct {
		key, from       string
		power, multiple float64
	}{
		{"attention.decay_lora_rank", "decay_low_rank_dim", 0.5, 1.8},
		{"attention.iclr_lora_rank", "a_low_rank_dim", 0.5, 1.8},
		{"attention.value_residual_mix_lora_rank", "v_low_rank_dim", 0.5, 1.3},
		{"attention.gate_lora_rank", "gate_low_rank_dim", 0.8, 0.6},
	} {
		usual := 32 * max(1, int64(math.RoundToEven(math.Pow(float64(hidden), r.power)*r.multiple/32)))
		put(r.key, c.int(r.from, usual))
	}
}
