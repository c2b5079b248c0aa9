package model

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// What config.json and the tensors of Gemma 4 say in terms of GGUF.

// gemma4Names are the names of SafeTensors files. The names of GGUF files that end in
// ".scale" are whole; see (*translation).name.
var gemma4Names = map[string]string{
	"post_attention_layernorm":     "post_attention_norm",
	"post_feedforward_layernorm_1": "post_ffw_norm_1",
	"pre_feedforward_layernorm_2":  "pre_ffw_norm_2",
	"post_feedforward_layernorm_2": "post_ffw_norm_2",
	"layer_scalar":                 "layer_output_scale",
	"router.proj":                  "ffn_gate_inp",
	"router.scale":                 "ffn_gate_inp.scale",
	"router.per_expert_scale":      "ffn_down_exps.scale",
	"experts.gate_up_proj":         "ffn_gate_up_exps",
	"experts.down_proj":            "ffn_down_exps",
	"per_layer_input_gate":         "inp_gate",
	"per_layer_projection":         "proj",
	"post_per_layer_input_norm":    "post_norm",
}

var gemma4Reads = []string{"final_logit_softcapping", "hidden_size_per_layer_input", "num_kv_shared_layers", "use_bidirectional_attention"}

var gemma4Only = map[string][]any{"hidden_activation": geluTanh, "attention_bias": {false}}

var gemma4Defaults = map[string]any{
	"head_dim": int64(256), "rms_norm_eps": 1e-6, "sliding_window": int64(512), "max_position_embeddings": int64(131072), "tie_word_embeddings": true,
}

// gemma4Config reads what config.json has of its own.
func gemma4Config(c *hfConfig, put func(string, any)) {
	layers := c.int("num_hidden_layers", 0)
	if layers < 1 || layers > maxLayers {
		c.fail("num_hidden_layers is %d, outside 1 to %d", layers, maxLayers)
		return
	}
	switch v := c.m["use_bidirectional_attention"]; v {
	case nil, false, "vision": // of images; text looks back
	default:
		c.refuse("use_bidirectional_attention of %v in a model of type %s", v, c.kind)
	}
	slidingWindow(c, put)
	slides := c.gemma4Slides(layers)
	put("attention.sliding_window_pattern", slides)
	shared, width := c.int("num_kv_shared_layers", 0), c.int("intermediate_size", 0)
	put("attention.shared_kv_layers", shared)
	if c.flag("use_double_wide_mlp") {
		wide := make([]int64, layers)
		for i := range wide {
			if wide[i] = width; int64(i) >= layers-shared {
				wide[i] = 2 * width
			}
		}
		put("feed_forward_length", wide)
	}
	if n := c.perKind("num_global_key_value_heads", "num_key_value_heads", slides); n > 0 {
		heads := make([]int64, layers)
		for i := range heads {
			if heads[i] = n; slides[i] {
				heads[i] = c.int("num_key_value_heads", n)
			}
		}
		put("attention.head_count_kv", heads)
	}
	n := c.int("hidden_size_per_layer_input", 0)
	put("embedding_length_per_layer_input", n)
	if n > 0 {
		if v := c.int("vocab_size_per_layer_input", c.int("vocab_size", 0)); v != c.int("vocab_size", v) {
			c.refuse("vocab_size_per_layer_input of %d beside a vocab_size of %d", v, c.int("vocab_size", 0))
		}
	}
	if v, ok := number(c.m["final_logit_softcapping"]); ok {
		put("final_logit_softcapping", v)
	}
	if c.flag("enable_moe_block") {
		for key, from := range map[string][]string{
			"expert_count": {"num_experts", "num_local_experts"}, "expert_used_count": {"top_k_experts"},
			"expert_feed_forward_length": {"moe_intermediate_size", "expert_intermediate_size"},
		} {
			if v := c.first(from...); v != nil {
				put(key, v)
			}
		}
	}
}

// gemma4Rotary says how heads of each kind of layer are rotated, and how wide they are.
func gemma4Rotary(c *hfConfig, put func(string, any)) []*weights.Tensor {
	layers := c.int("num_hidden_layers", 0)
	if layers < 1 || layers > maxLayers {
		c.fail("num_hidden_layers is %d, outside 1 to %d", layers, maxLayers)
		return nil
	}
	local, full := c.int("head_dim", 0), c.perKind("global_head_dim", "head_dim", c.gemma4Slides(layers))
	full = cmp.Or(full, 512)
	if local < 2 || local > maxWidth || full < 2 || full > maxWidth {
		c.fail("head_dim is %d and global_head_dim %d, outside 2 to %d", local, full, maxWidth)
		return nil
	}
	for key, n := range map[string]int64{"attention.key_length": full, "attention.key_length_swa": local} {
		put(key, n)
		put(strings.Replace(key, "key", "value", 1), n)
	}
	read := func(name, kind string, base, part float64) (float64, float64) {
		m, _ := c.rope[name].(map[string]any)
		if v, ok := number(m["rope_theta"]); ok {
			base = v
		}
		if v, ok := number(m["partial_rotary_factor"]); ok {
			part = v
		}
		if v := m["rope_type"]; v != nil && v != kind {
			c.refuse("rope scaling %v of %s layers in a model of type %s", v, name, c.kind)
		}
		if !(part > 0 && part <= 1) {
			c.fail("partial_rotary_factor is %g", part)
			part = 1
		}
		return base, part
	}
	base, part := read("sliding_attention", "default", 1e4, 1)
	put("rope.freq_base_swa", base)
	put("rope.dimension_count_swa", int64(float64(local)*part))
	base, part = read("full_attention", "proportional", 1e6, 0.25)
	put("rope.freq_base", base)
	put("rope.dimension_count", full)
	return []*weights.Tensor{proportional(full, part)}
}

// gemma4Slides says which layers have a window; the last has none where layer_types does
// not say so.
func (c *hfConfig) gemma4Slides(layers int64) []bool {
	slides := make([]bool, layers)
	types, ok := c.m["layer_types"].([]any)
	if ok && int64(len(types)) != layers {
		c.fail("layer_types has %d entries for %d layers", len(types), layers)
		return slides
	}
	for i := range slides {
		switch {
		case !ok:
			slides[i] = (i+1)%6 != 0 && i < len(slides)-1
		case types[i] == "sliding_attention":
			slides[i] = true
		case types[i] != "full_attention":
			c.refuse("layers of type %v", types[i])
		}
	}
	return slides
}

// perKind is a number of the layers that see everything: a key of its own, or, in newer
// files, a key of each such layer. 0 is for none.
func (c *hfConfig) perKind(key, ofLayer string, slides []bool) int64 {
	if n := c.int(key, 0); n != 0 {
		return n
	}
	list, _ := c.m["per_layer_config"].(map[string]any)
	var n int64
	for i, s := range slides {
		one, _ := list[strconv.Itoa(i)].(map[string]any)
		v, ok := one[ofLayer].(int64)
		switch {
		case s || !ok:
		case n != 0 && v != n:
			c.refuse("per_layer_config whose %s differs between layers that see everything", ofLayer)
		default:
			n = v
		}
	}
	return n
}

// proportional returns the divisors of a rotation that leaves out the last pairs of a head,
// whose frequencies are those of the whole head.
func proportional(headDim int64, part float64) *weights.Tensor {
	x := slices.Repeat([]float32{1e30}, int(headDim/2))
	for i := range min(len(x), int(math.Floor(float64(headDim)*part/2))) {
		x[i] = 1
	}
	return floats("rope_freqs.weight", x)
}
