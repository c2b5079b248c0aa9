package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quern/formats/weights"
)

// hfKeys gives the number each GGUF key has in config.json, under the
// spellings in use.
var hfKeys = []struct {
	key  string
	from []string
}{
	{"context_length", []string{"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"}},
	{"embedding_length", []string{"hidden_size", "n_embd", "n_embed", "d_model"}},
	{"block_count", []string{"num_hidden_layers", "n_layer", "num_layers", "n_layers"}},
	{"feed_forward_length", []string{"intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"}},
	{"attention.head_count", []string{"num_attention_heads", "n_head", "n_heads"}},
	{"vocab_size", []string{"vocab_size"}},
}

// An hfConfig is config.json, or the text part of it.
type hfConfig struct {
	kind string // model_type
	arch string
	m    map[string]any // numbers are int64 or float64
	rope map[string]any // rope_parameters, or rope_scaling of older files
	err  error

	yesNo []int // rows of the tokens whose likelihoods are the score of a pair, or nil
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
	c.unwrap()
	c.encoderKind()
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
	f, ok := hfFamilies()[c.kind]
	if !ok {
		var known []string
		for _, k := range slices.Sorted(maps.Keys(hfFamilies())) {
			if opener(hfFamilies()[k].arch) != nil {
				known = append(known, k)
			}
		}
		return bad(fmt.Errorf("%w: model_type %q is not known; quern knows %s", ErrUnsupported, c.kind, strings.Join(known, ", ")))
	}
	if f.choose != nil {
		f.arch = f.choose(c)
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
	if n := c.int("head_dim", 0); n > 0 && heads > 0 {
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
	switch {
	case f.rotary != nil:
		extra = f.rotary(c, put)
	case !f.norotary:
		extra = c.rotary(headDim, put)
	}
	c.pooling(set, put)
	c.dense(set, put)
	if f.more != nil {
		f.more(c, put)
	}
	c.scoring(set, meta, put)
	if c.err != nil {
		return bad(c.err)
	}
	return c, f, meta, extra, nil
}

// pooling reads what sentence-transformers keeps beside the model.
func (c *hfConfig) pooling(set *weights.Set, put func(string, any)) {
	modules, _ := set.Meta.Lookup("hf.modules")
	list, _ := modules.([]string)
	for i, m := range list {
		ends := i == len(list)-1
		if m != "Transformer" && m != "Pooling" && m != "Dense" && !(m == "Normalize" && ends) && !(m == "LogitScore" && ends) {
			c.refuse("%.100s as module %d of %d in modules.json", m, i+1, len(list))
		}
	}
	text := set.Meta.String("hf.pooling")
	if text == "" {
		return
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		c.fail("1_Pooling/config.json: %v", err)
		return
	}
	if with, ok := p["include_prompt"].(bool); ok && !with {
		c.refuse("a pooling without the tokens of the prompt")
	}
	mode, _ := p["pooling_mode"].(string) // of newer files
	for _, k := range []struct {
		key, mode string
		p         Pooling
	}{
		{"pooling_mode_cls_token", "cls", PoolCLS}, {"pooling_mode_mean_tokens", "mean", PoolMean}, {"pooling_mode_lasttoken", "lasttoken", PoolLast},
	} {
		if on, _ := p[k.key].(bool); on || mode == k.mode {
			put("pooling_type", int64(k.p))
			return
		}
	}
	c.refuse("a pooling other than the mean, the first or the last token")
}
