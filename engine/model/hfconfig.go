package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// An hfFamily is a model_type of config.json: the architecture it is in GGUF's
// terms, and what it has that others have not.
type hfFamily struct {
	arch     string
	eps      string         // config.json's key of the norms' epsilon
	layer    bool           // norms are LayerNorm, not RMSNorm
	defaults map[string]any // what transformers assumes for keys left out
	more     func(c *hfConfig, set func(key string, v any))
	names    map[string]string // names in a layer that mean something else here
	plusOne  bool              // norms are stored less one
	norotary bool
	reads    []string // keys of hfOff that the family reads
}

// hfFamilies is every model_type quern translates. Which of the architectures
// there are, archs says.
var hfFamilies = map[string]hfFamily{
	"llama":       {arch: "llama", eps: "rms_norm_eps"},
	"mistral":     {arch: "llama", eps: "rms_norm_eps", more: slidingWindow},
	"mixtral":     {arch: "llama", eps: "rms_norm_eps", more: all(slidingWindow, experts), defaults: map[string]any{"rope_theta": 1e6}},
	"smollm3":     {arch: "smollm3", eps: "rms_norm_eps", more: noRopeLayers, defaults: map[string]any{"rope_theta": 2e6}},
	"qwen2":       {arch: "qwen2", eps: "rms_norm_eps", more: qwenWindow},
	"qwen3":       {arch: "qwen3", eps: "rms_norm_eps", more: qwenWindow, defaults: map[string]any{"head_dim": int64(128)}},
	"qwen2_moe":   {arch: "qwen2moe", eps: "rms_norm_eps", more: all(qwenWindow, experts)},
	"qwen3_moe":   {arch: "qwen3moe", eps: "rms_norm_eps", more: all(qwenWindow, experts)},
	"phi":         {arch: "phi2", eps: "layer_norm_eps", layer: true, defaults: map[string]any{"partial_rotary_factor": 0.5}},
	"phi3":        {arch: "phi3", eps: "rms_norm_eps", more: slidingWindow},
	"phimoe":      {arch: "phimoe", eps: "rms_norm_eps", layer: true, more: all(slidingWindow, experts, sparseMixer), defaults: map[string]any{"num_experts_per_tok": int64(2)}},
	"falcon":      {arch: "falcon", eps: "layer_norm_epsilon", layer: true, more: falcon, names: map[string]string{"ln_mlp": "attn_norm", "ln_attn": "attn_norm_2"}},
	"gemma2":      {arch: "gemma2", eps: "rms_norm_eps", plusOne: true, more: gemma(2), names: gemmaNorms, reads: gemmaCaps, defaults: map[string]any{"sliding_window": int64(4096), "query_pre_attn_scalar": int64(256), "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0}},
	"gemma3_text": {arch: "gemma3", eps: "rms_norm_eps", plusOne: true, more: gemma(6), names: gemmaNorms, reads: gemmaCaps[1:], defaults: gemma3Defaults},
	"gemma3":      {arch: "gemma3", eps: "rms_norm_eps", plusOne: true, more: gemma(6), names: gemmaNorms, reads: gemmaCaps[1:], defaults: gemma3Defaults},
	"starcoder2":  {arch: "starcoder2", eps: "norm_epsilon", layer: true, more: slidingWindow},
	"olmo2":       {arch: "olmo2", eps: "rms_norm_eps", names: map[string]string{"post_attention_layernorm": "post_attention_norm"}},
	"granite":     {arch: "granite", eps: "rms_norm_eps", more: granite, reads: []string{"embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"}, defaults: map[string]any{"embedding_multiplier": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0, "logits_scaling": 1.0}},
	"gpt_oss":     {arch: "gpt-oss", eps: "rms_norm_eps", more: all(experts, gptOSSConfig), names: gptOSSNames},
	"bert":        {arch: "bert", eps: "layer_norm_eps", layer: true, norotary: true, more: bidirectional, reads: []string{"is_causal"}},
	"nomic_bert":  {arch: "nomic-bert", eps: "layer_norm_epsilon", layer: true, more: all(bidirectional, trainedLength), reads: []string{"is_causal"}, defaults: map[string]any{"rotary_emb_base": 10000.0}},
}

// hfEps is what transformers assumes for an epsilon left out.
var hfEps = map[string]float64{
	"llama": 1e-6, "mistral": 1e-6, "mixtral": 1e-5, "smollm3": 1e-6, "qwen2": 1e-6, "qwen3": 1e-6, "qwen2_moe": 1e-6, "qwen3_moe": 1e-6,
	"phi": 1e-5, "phi3": 1e-5, "phimoe": 1e-5, "falcon": 1e-5, "gemma2": 1e-6, "gemma3_text": 1e-6, "gemma3": 1e-6,
	"starcoder2": 1e-5, "olmo2": 1e-5, "granite": 1e-6, "gpt_oss": 1e-5, "bert": 1e-12, "nomic_bert": 1e-5,
}

var gemmaCaps = []string{"attn_logit_softcapping", "final_logit_softcapping"}

var gemmaNorms = map[string]string{"post_attention_layernorm": "post_attention_norm"}

// Published Gemma 3 files rely on these.
var gemma3Defaults = map[string]any{
	"num_attention_heads": int64(8), "num_key_value_heads": int64(4), "head_dim": int64(256),
	"max_position_embeddings": int64(131072), "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
	"query_pre_attn_scalar": int64(256), "sliding_window": int64(4096),
}

// hfKeys gives the number each GGUF key has in config.json, under the
// spellings in use.
var hfKeys = []struct {
	key  string
	from []string
}{
	{"context_length", []string{"max_position_embeddings", "n_positions"}},
	{"embedding_length", []string{"hidden_size", "n_embd"}},
	{"block_count", []string{"num_hidden_layers", "n_layer"}},
	{"feed_forward_length", []string{"intermediate_size", "n_inner", "ffn_hidden_size"}},
	{"attention.head_count", []string{"num_attention_heads", "n_head"}},
	{"vocab_size", []string{"vocab_size"}},
}

// An hfConfig is config.json, or the text part of it.
type hfConfig struct {
	kind string // model_type
	arch string
	m    map[string]any // numbers are int64 or float64
	rope map[string]any // rope_parameters, or rope_scaling of older files
	err  error
}

// parseHF reads config.json. The first error of its other methods sticks.
func parseHF(text string) (*hfConfig, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: config.json: %v", ErrFormat, err)
	}
	numbers(m)
	c := &hfConfig{m: m}
	c.kind, _ = m["model_type"].(string)
	// Models that also see or hear keep what concerns text apart.
	if inner, ok := m["text_config"].(map[string]any); ok {
		for _, k := range []string{"tie_word_embeddings", "quantization_config"} {
			if v, given := m[k]; given && inner[k] == nil {
				inner[k] = v
			}
		}
		c.m = inner
	}
	c.rope, _ = c.m["rope_parameters"].(map[string]any)
	if c.rope == nil {
		c.rope, _ = c.m["rope_scaling"].(map[string]any)
	}
	return c, nil
}

// numbers turns every json.Number in v into an int64 or a float64.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // ±Inf beyond the range, which readers refuse
		return f
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(e)
		}
	}
	return v
}

// first returns the value of the first key that is there and not null.
func (c *hfConfig) first(keys ...string) any {
	for _, k := range keys {
		if v := c.m[k]; v != nil {
			return v
		}
	}
	return nil
}

// int returns an integer, or def where the key is absent.
func (c *hfConfig) int(key string, def int64) int64 {
	switch v := c.m[key].(type) {
	case nil:
	case int64:
		return v
	default:
		c.fail("%s is %v, want an integer", key, v)
	}
	return def
}

func (c *hfConfig) flag(key string) bool {
	b, _ := c.m[key].(bool)
	return b
}

func (c *hfConfig) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: config.json: %s", ErrFormat, fmt.Sprintf(format, args...))
	}
}

func (c *hfConfig) refuse(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
	}
}

// number turns a JSON number into a float64.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// hfMeta says in GGUF's keys what config.json and its companions say, and
// returns the tensors that GGUF files have and SafeTensors files have not.
func hfMeta(set *weights.Set) (*hfConfig, hfFamily, *weights.Meta, []*weights.Tensor, error) {
	bad := func(err error) (*hfConfig, hfFamily, *weights.Meta, []*weights.Tensor, error) {
		return nil, hfFamily{}, nil, nil, err
	}
	text := set.Meta.String("hf.config")
	if text == "" {
		return bad(fmt.Errorf("%w: no config.json beside the SafeTensors files", ErrFormat))
	}
	c, err := parseHF(text)
	if err != nil {
		return bad(err)
	}
	f, ok := hfFamilies[c.kind]
	if !ok {
		var known []string
		for _, k := range slices.Sorted(maps.Keys(hfFamilies)) {
			if archs[hfFamilies[k].arch] != nil {
				known = append(known, k)
			}
		}
		return bad(fmt.Errorf("%w: model_type %q is not known; quern knows %s", ErrUnsupported, c.kind, strings.Join(known, ", ")))
	}
	for k, v := range f.defaults {
		if c.m[k] == nil {
			c.m[k] = v
		}
	}
	c.arch = f.arch
	c.refuseQuantised()
	c.refuseUnknown(f.reads)

	meta := new(weights.Meta)
	meta.Set("general.architecture", f.arch)
	put := func(key string, v any) { meta.Set(f.arch+"."+key, v) }
	for _, k := range hfKeys {
		if v := c.first(k.from...); v != nil {
			put(k.key, v)
		}
	}
	hidden, _ := meta.Int(f.arch + ".embedding_length")
	heads, _ := meta.Int(f.arch + ".attention.head_count")
	if _, ok := meta.Int(f.arch + ".feed_forward_length"); !ok {
		put("feed_forward_length", 4*hidden)
	}
	put("attention.head_count_kv", c.int("num_key_value_heads", heads))
	headDim := int64(0)
	if heads > 0 {
		headDim = hidden / heads
	}
	if n := c.int("head_dim", 0); n > 0 {
		headDim = n
		put("attention.key_length", n)
		put("attention.value_length", n)
	}
	eps := c.first(f.eps, "norm_epsilon", "rms_norm_eps", "layer_norm_eps")
	if eps == nil {
		eps = hfEps[c.kind]
	}
	if f.layer {
		put("attention.layer_norm_epsilon", eps)
	}
	if !f.layer || f.arch == "phimoe" { // llama.cpp runs phimoe with RMS norms
		put("attention.layer_norm_rms_epsilon", eps)
	}
	var extra []*weights.Tensor
	if !f.norotary {
		extra = c.rotary(headDim, put)
	}
	c.pooling(set, put)
	if f.more != nil {
		f.more(c, put)
	}
	if c.err != nil {
		return bad(c.err)
	}
	return c, f, meta, extra, nil
}

func all(fs ...func(*hfConfig, func(string, any))) func(*hfConfig, func(string, any)) {
	return func(c *hfConfig, put func(string, any)) {
		for _, f := range fs {
			f(c, put)
		}
	}
}

func slidingWindow(c *hfConfig, put func(string, any)) {
	if n := c.int("sliding_window", 0); n > 0 {
		put("attention.sliding_window", n)
	}
}

// sparseMixer is how Phi 3.5 MoE routes.
func sparseMixer(c *hfConfig, put func(string, any)) {
	jitter := 0.01
	if v := c.m["router_jitter_noise"]; v != nil {
		x, ok := number(v)
		if !ok {
			c.fail("router_jitter_noise is %v, want a number", v)
		}
		jitter = x
	}
	put(routerJitter, jitter)
}

// qwenWindow refuses a window on some layers only, which no published model
// of the family turns on.
func qwenWindow(c *hfConfig, _ func(string, any)) {
	types, _ := c.m["layer_types"].([]any)
	if c.flag("use_sliding_window") && (c.int("max_window_layers", 0) < c.int("num_hidden_layers", 0) || slices.Contains(types, "sliding_attention")) {
		c.refuse("a sliding window on some layers of %s", c.kind)
	}
}

func noRopeLayers(c *hfConfig, _ func(string, any)) {
	list, _ := c.m["no_rope_layers"].([]any)
	for i, v := range list {
		// A layer is marked 1 where it has rotary positions.
		if n, ok := v.(int64); !ok || (n == 0) != ((i+1)%4 == 0) {
			c.refuse("rotary positions on other than three of four layers")
		}
	}
	if n := c.int("no_rope_layer_interval", 4); n != 4 && list == nil {
		c.refuse("rotary positions left out every %d layers, want 4", n)
	}
	if c.flag("use_sliding_window") {
		c.refuse("a sliding window of %s", c.kind)
	}
}

func experts(c *hfConfig, put func(string, any)) {
	for key, from := range map[string][]string{
		"expert_count":                      {"num_local_experts", "num_experts"},
		"expert_used_count":                 {"num_experts_per_tok"},
		"expert_feed_forward_length":        {"moe_intermediate_size"},
		"expert_shared_feed_forward_length": {"shared_expert_intermediate_size"},
	} {
		if v := c.first(from...); v != nil {
			put(key, v)
		}
	}
	if c.m["norm_topk_prob"] != nil {
		put("expert_weights_norm", c.flag("norm_topk_prob"))
	}
	if list, _ := c.m["mlp_only_layers"].([]any); len(list) > 0 || c.int("decoder_sparse_step", 1) != 1 {
		c.refuse("experts on some layers only")
	}
}

func falcon(c *hfConfig, put func(string, any)) {
	if v, ok := c.m["parallel_attn"].(bool); ok && !v && !c.flag("new_decoder_architecture") {
		c.refuse("a falcon model without parallel attention")
	}
	put("attention.head_count_kv", c.falconKV())
	if c.first("max_position_embeddings", "n_positions") == nil {
		put("context_length", int64(2048))
	}
	// GGUF files take the width of the feed-forward block as given.
	if c.first("ffn_hidden_size") == nil {
		put("feed_forward_length", 4*c.int("hidden_size", c.int("n_embd", 0)))
	}
}

func (c *hfConfig) falconKV() int64 {
	heads := c.int("num_attention_heads", c.int("n_head", 1))
	switch {
	case c.flag("new_decoder_architecture"):
		return c.int("num_kv_heads", c.int("n_head_kv", heads))
	case c.m["multi_query"] == nil || c.flag("multi_query"):
		return 1
	}
	return heads
}

// gemma says where window and full attention alternate; every full-th layer
// has the latter.
func gemma(full int) func(*hfConfig, func(string, any)) {
	return func(c *hfConfig, put func(string, any)) {
		slidingWindow(c, put)
		for _, k := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
			if v := c.m[k]; v != nil {
				put(k, v)
			}
		}
		if q, ok := number(c.m["query_pre_attn_scalar"]); ok && q > 0 {
			put("attention.scale", 1/math.Sqrt(q))
		}
		types, _ := c.m["layer_types"].([]any)
		for i, v := range types {
			if (v == "full_attention") != ((i+1)%full == 0) {
				c.refuse("layers of %s with another order of full and sliding attention than one in %d", c.kind, full)
			}
		}
		if n := c.int("sliding_window_pattern", int64(full)); n != int64(full) && types == nil {
			c.refuse("layers of %s with full attention on one in %d, want %d", c.kind, n, full)
		}
		if full == 6 {
			local := c.m["rope_local_base_freq"]
			if r, ok := c.rope["sliding_attention"].(map[string]any); ok && r["rope_theta"] != nil {
				local = r["rope_theta"]
			}
			put("rope.freq_base_swa", local)
		}
	}
}

func granite(c *hfConfig, put func(string, any)) {
	for key, from := range map[string]string{
		"embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier",
		"attention.scale": "attention_multiplier", "logit_scale": "logits_scaling",
	} {
		if v := c.m[from]; v != nil {
			put(key, v)
		}
	}
}

func bidirectional(c *hfConfig, put func(string, any)) {
	put("attention.causal", false)
	if p := c.first("position_embedding_type"); p != nil && p != "absolute" {
		c.refuse("position embeddings of type %v", p)
	}
}

// trainedLength cuts the context of nomic-bert, whose config.json has room for
// more positions than the model was trained with, to what it was trained with.
func trainedLength(c *hfConfig, put func(string, any)) {
	trained := c.int("max_trained_positions", 2048)
	if n := c.int("max_position_embeddings", c.int("n_positions", trained)); n > 0 {
		put("context_length", min(n, trained))
	}
}

// pooling reads what sentence-transformers keeps beside the model.
func (c *hfConfig) pooling(set *weights.Set, put func(string, any)) {
	text := set.Meta.String("hf.pooling")
	if text == "" {
		return
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		c.fail("1_Pooling/config.json: %v", err)
		return
	}
	for _, k := range []struct {
		key string
		p   Pooling
	}{
		{"pooling_mode_cls_token", PoolCLS}, {"pooling_mode_mean_tokens", PoolMean}, {"pooling_mode_lasttoken", PoolLast},
	} {
		if on, _ := p[k.key].(bool); on {
			put("pooling_type", int64(k.p))
			return
		}
	}
	c.refuse("a pooling other than the mean, the first or the last token")
}

// rotary writes the keys of the rotary embedding, of either spelling, and
// returns the divisors that GGUF files store as tensors.
func (c *hfConfig) rotary(headDim int64, put func(string, any)) []*weights.Tensor {
	rope := c.rope
	// Models with two kinds of layers keep parameters for each.
	if full, ok := rope["full_attention"].(map[string]any); ok {
		rope = full
	}
	get := func(keys ...string) any {
		for _, k := range keys {
			if v := rope[k]; v != nil {
				return v
			}
			if v := c.m[k]; v != nil {
				return v
			}
		}
		return nil
	}
	base := get("rope_theta", "rotary_emb_base")
	if base == nil {
		base = 10000.0
	}
	put("rope.freq_base", base)
	part, ok := number(get("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction"))
	if !ok {
		part = 1
	}
	if part <= 0 || part > 1 {
		c.fail("partial_rotary_factor is %g", part)
		return nil
	}
	dim := int64(float64(headDim) * part)
	put("rope.dimension_count", dim)

	kind, _ := rope["rope_type"].(string)
	if kind == "" {
		kind, _ = rope["type"].(string)
	}
	float := func(key string, def float64) float64 {
		v := get(key)
		if v == nil && def > 0 {
			return def
		}
		x, ok := number(v)
		if !ok || !(x > 0) || math.IsInf(x, 0) {
			c.fail("rope parameter %s is %v, want a number above 0", key, v)
			return 1
		}
		return x
	}
	maxLen := float("max_position_embeddings", 2048)
	if n := c.int("original_max_position_embeddings", 0); n > 0 {
		put("rope.scaling.original_context_length", n)
	}
	switch kind {
	case "", "default", "mrope":
	case "dynamic":
		// It only changes texts beyond the context the model was made for.
	case "linear":
		put("rope.scaling.type", "linear")
		put("rope.scaling.factor", float("factor", 0))
	case "yarn":
		if exact, ok := rope["truncate"].(bool); ok {
			put("rope.scaling.yarn_truncate", exact)
		}
		factor := float("factor", 0)
		put("rope.scaling.type", "yarn")
		put("rope.scaling.factor", factor)
		put("rope.scaling.original_context_length", int64(float("original_max_position_embeddings", maxLen)))
		put("rope.scaling.yarn_beta_fast", float("beta_fast", 32))
		put("rope.scaling.yarn_beta_slow", float("beta_slow", 1))
		if rope["mscale"] != nil || rope["mscale_all_dim"] != nil {
			c.refuse("yarn with an mscale")
		}
		if a := get("attention_factor"); a != nil {
			// GGUF's factor multiplies the usual one.
			put("rope.scaling.attn_factor", float("attention_factor", 0)/(1+0.1*math.Log(factor)))
		}
	case "llama3":
		return []*weights.Tensor{c.llama3(int(dim)/2, base, float)}
	case "longrope", "su":
		original := float("original_max_position_embeddings", maxLen)
		put("rope.scaling.original_context_length", int64(original))
		factor := maxLen / original
		if get("short_mscale") != nil || get("long_mscale") != nil { // of phimoe, and before the others
			if float("short_mscale", 0) != float("long_mscale", 0) {
				c.refuse("longrope whose short_mscale and long_mscale differ")
			}
			put("rope.scaling.attn_factor", float("long_mscale", 0))
		} else if f := get("attention_factor"); f != nil {
			put("rope.scaling.attn_factor", float("attention_factor", 0))
		} else if factor > 1 {
			put("rope.scaling.attn_factor", math.Sqrt(1+math.Log(factor)/math.Log(original)))
		}
		var out []*weights.Tensor
		for _, side := range []string{"long", "short"} {
			list, _ := rope[side+"_factor"].([]any)
			if len(list) != int(dim)/2 {
				c.fail("rope parameter %s_factor has %d numbers, want %d", side, len(list), dim/2)
				return nil
			}
			x := make([]float32, len(list))
			for i, v := range list {
				f, ok := number(v)
				if !ok || !(f > 0) {
					c.fail("rope parameter %s_factor holds %v", side, v)
				}
				x[i] = float32(f)
			}
			out = append(out, floats("rope_factors_"+side+".weight", x))
		}
		return out
	default:
		c.refuse("rope scaling %q", kind)
	}
	return nil
}

// llama3 returns the divisors of Llama 3.1's frequencies: none for those that
// turn often within the original context, the full factor for those that
// hardly turn, and something between for the others.
//
// "The Llama 3 Herd of Models", 2024, as configured by rope_type llama3.
func (c *hfConfig) llama3(pairs int, base any, float func(string, float64) float64) *weights.Tensor {
	theta, _ := number(base)
	factor := float("factor", 0)
	low, high := float("low_freq_factor", 1), float("high_freq_factor", 4)
	original := float("original_max_position_embeddings", 8192)
	if high <= low {
		c.fail("rope parameters low_freq_factor %g and high_freq_factor %g", low, high)
	}
	x := make([]float32, max(0, pairs))
	for i := range x {
		length := 2 * math.Pi * math.Pow(theta, float64(i)/float64(pairs))
		switch turns := original / length; {
		case turns > high:
			x[i] = 1
		case turns < low:
			x[i] = float32(factor)
		default:
			smooth := (turns - low) / (high - low)
			x[i] = float32(1 / ((1-smooth)/factor + smooth))
		}
	}
	return floats("rope_freqs.weight", x)
}

// floats is a tensor made here.
func floats(name string, x []float32) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: quant.F32, Shape: []int{len(x)}, Data: make([]byte, 4*len(x))}
	for i, v := range x {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(v))
	}
	return t
}
