package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Config is what a text model's file says about its shape.
type Config struct {
	Arch    string
	Layers  int
	Hidden  int // width of an activation row
	FF      int // width inside the feed-forward block
	Heads   int
	KVHeads int
	HeadDim int
	Vocab   int // rows of the token embedding
	Context int // tokens the model was made for
	Eps     float32
	Rope    RopeConfig
	Pooling Pooling  // of embeddings, when the file says so
	Encoder bool     // every token sees its whole text: it makes embeddings, not logits
	Vector  int      // numbers of a vector where layers follow the pooling, see Projector; 0 where none do
	Pairs   bool     // it scores pairs of texts: a vector is one number
	Labels  []string // of a classifier: what the numbers of a vector are the logits of
	Many    bool     // of a classifier: a text may have several of its labels
	Second  int      // added to tokens of the second text of a pair
	Window  int      // tokens a layer with a sliding window sees, 0 when there is none

	// Of a mixture of experts: how many a layer has, how many a token uses, and
	// the width inside one, which is FF when the file does not say.
	Experts, Used, ExpertFF int

	// KVLayers is how many layers of a hybrid keep keys and values, and State how many
	// float32s of one sequence the others carry from token to token.
	KVLayers, State int

	layerKV, layerFF []int // where layers differ: key heads and feed-forward width by layer, 0 for none

	// Served is the longest sequence the recording is for, 0 for Context. The
	// caller that records may set it: Phi-3's long files rotate by it.
	Served int
}

// A Pooling turns the rows of a text into one vector.
type Pooling int

// The poolings, numbered as GGUF does.
const (
	PoolNone Pooling = iota // the file does not say
	PoolMean
	PoolCLS
	PoolLast
	PoolRank // a score of a pair of texts; Open makes it one of those above
)

// A RopeConfig describes the rotary position embedding.
type RopeConfig struct {
	Dim        int // values of a head that are rotated
	Base       float64
	Scaling    string  // "", "linear" or "yarn"
	Factor     float64 // of the scaling, ≥ 1
	Original   int     // context before scaling (yarn)
	AttnFactor float64 // multiplies yarn's magnitude
	ExtFactor  float64 // how much yarn extrapolates, 1 unless the file says otherwise
	BetaFast   float64
	BetaSlow   float64
	Exact      bool // yarn's bounds are not rounded to whole pairs
}

// A reader takes typed values out of a file's keys. Its first error sticks.
type reader struct {
	*file
	err error
}

func (r *reader) fail(key, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s%s %s", ErrFormat, r.prefix, key, fmt.Sprintf(format, args...))
	}
}

// wrong is fail for a key of no architecture.
func (r *reader) wrong(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
	}
}

// refuse is fail for a value that is sound but asks for what quern does not have.
func (r *reader) refuse(key, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s%s %s", ErrUnsupported, r.prefix, key, fmt.Sprintf(format, args...))
	}
}

// count reads an integer in [1, max].
func (r *reader) count(key string, max int) int {
	v, _ := r.value(key)
	n, ok := v.(int64)
	switch {
	case !ok:
		r.fail(key, "is missing or no integer")
		return 1
	case n < 1 || n > int64(max):
		r.fail(key, "is %d, outside 1 to %d", n, max)
		return 1
	}
	return int(n)
}

// countOr is count with a default for a key that is absent.
func (r *reader) countOr(key string, max, def int) int {
	if _, ok := r.value(key); !ok {
		return def
	}
	return r.count(key, max)
}

// upTo reads an integer in [0, max], 0 when it is absent.
func (r *reader) upTo(key string, max int) int {
	if v, _ := r.value(key); v == int64(0) {
		return 0
	}
	return r.countOr(key, max, 0)
}

// perLayer reads an integer, or an array of one integer per layer that are all
// the same.
func (r *reader) perLayer(key string, max, layers, def int) int {
	v, _ := r.value(key)
	list, _ := v.([]int64)
	if list == nil {
		return r.countOr(key, max, def)
	}
	if len(list) != layers {
		r.fail(key, "has %d entries for %d layers", len(list), layers)
		return 1
	}
	for _, n := range list {
		if n != list[0] {
			r.refuse(key, "differs between layers")
			return 1
		}
	}
	if list[0] < 1 || list[0] > int64(max) {
		r.fail(key, "is %d, outside 1 to %d", list[0], max)
		return 1
	}
	return int(list[0])
}

// each reads an integer of 1 or more for each layer, or one for all.
func (r *reader) each(key string, max, layers int) []int {
	v, _ := r.value(key)
	list, _ := v.([]int64)
	if list == nil {
		return slices.Repeat([]int{r.count(key, max)}, layers)
	}
	all := slices.Repeat([]int{1}, layers)
	if len(list) != layers {
		r.fail(key, "has %d entries for %d layers", len(list), layers)
		return all
	}
	for i, n := range list {
		if n < 1 || n > int64(max) {
			r.fail(key, "is %d, outside 1 to %d", n, max)
			break
		}
		all[i] = int(n)
	}
	return all
}

// layers reads what layers of hybrids have, each of which may have none; those that have
// the same are alike. A model without attention gets a cache of one small head.
func (r *reader) layers(c *Config, blocks int) {
	list := func(key string, max, def int) (list []int, one int) {
		list = slices.Repeat([]int{def}, blocks)
		switch v, ok := r.value(key); v := v.(type) {
		case int64:
			list = slices.Repeat([]int{int(v)}, blocks)
		case []int64:
			if len(v) != blocks {
				r.fail(key, "has %d entries for %d layers", len(v), blocks)
				return list, 1
			}
			for i, n := range v {
				list[i] = int(n)
			}
		default:
			if ok {
				r.fail(key, "is neither an integer nor a list of them")
			}
		}
		for _, n := range list {
			switch {
			case n < 0 || n > max:
				r.fail(key, "is %d, outside 0 to %d", n, max)
			case n > 0 && one > 0 && n != one:
				r.refuse(key, "differs between layers that have any")
			case n > 0:
				one = n
			}
		}
		return list, one
	}
	var heads, kv int
	c.layerFF, c.FF = list("feed_forward_length", maxWidth, 0)
	_, heads = list("attention.head_count", maxHeads, 0)
	c.layerKV, kv = list("attention.head_count_kv", maxHeads, heads)
	c.FF, c.Heads, c.KVHeads = max(1, c.FF), max(1, heads), max(1, kv)
	if heads == 0 {
		c.HeadDim = 16
	}
}

// float reads a finite number; an integer will do.
func (r *reader) float(key string, def float64) float64 {
	v, ok := r.value(key)
	if !ok {
		return def
	}
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.fail(key, "is %g", v)
			return def
		}
		return v
	case int64:
		return float64(v)
	}
	r.fail(key, "is no number")
	return def
}

// positive reads a number above zero.
func (r *reader) positive(key string, def float64) float64 {
	v := r.float(key, def)
	if v <= 0 {
		r.fail(key, "is %g, want more than 0", v)
		return 1
	}
	return v
}

// flag reads a boolean.
func (r *reader) flag(key string, def bool) bool {
	v, ok := r.value(key)
	if !ok {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		r.fail(key, "is no boolean")
		return def
	}
	return b
}

// Bounds no sane model passes; they keep products of them inside an int.
const (
	maxLayers  = 1 << 10
	maxWidth   = 1 << 20
	maxHeads   = 1 << 12
	maxContext = 1 << 28
	maxExperts = 1 << 12
)

// ggufConfig reads the keys all GGUF text models share. The vocabulary's size
// is that of the token embedding.
func ggufConfig(set *file) (Config, error) {
	r := &reader{file: set}
	blocks := r.count("block_count", maxLayers)
	c := Config{
		Arch: strings.TrimSuffix(set.prefix, "."),
		// The last layers may be for drafting further tokens (nextn, MTP). The
		// model's own output does not depend on them; quern leaves them out.
		Layers:  blocks - r.upTo("nextn_predict_layers", blocks-1),
		Hidden:  r.count("embedding_length", maxWidth),
		Context: r.count("context_length", maxContext),
	}
	set.drafts = [2]int{c.Layers, blocks}
	switch {
	case hybridArchs[c.Arch] != nil, c.Arch == "rwkv7":
		r.layers(&c, blocks)
	case c.Arch == "gemma4", c.Arch == "gemma3n":
		r.unlikeSizes(&c, blocks)
	default:
		c.FF = r.perLayer("feed_forward_length", maxWidth, blocks, 1)
		c.Heads = r.perLayer("attention.head_count", maxHeads, blocks, 1)
		c.KVHeads = r.perLayer("attention.head_count_kv", maxHeads, blocks, c.Heads)
	}
	c.HeadDim = r.countOr("attention.key_length", maxWidth, cmp.Or(c.HeadDim, max(1, c.Hidden/c.Heads)))
	if latentArchs[c.Arch] {
		r.latentSizes(&c)
	} else if v := r.countOr("attention.value_length", maxWidth, c.HeadDim); v != c.HeadDim {
		r.refuse("attention.value_length", "is %d with keys of %d", v, c.HeadDim)
	}
	if c.Heads%c.KVHeads != 0 {
		r.fail("attention.head_count_kv", "is %d for %d heads", c.KVHeads, c.Heads)
	}
	c.Eps = r.eps(layerNormed[c.Arch] || decoders[c.Arch].layerNorm)
	if moeArchs[c.Arch] {
		c.Experts = r.upTo("expert_count", maxExperts)
	}
	if c.Experts > 0 {
		c.Used = r.count("expert_used_count", c.Experts)
		c.ExpertFF = r.countOr("expert_feed_forward_length", maxWidth, c.FF)
	}
	c.Rope = r.rope(&c)
	c.Pooling = Pooling(r.upTo("pooling_type", maxHeads))
	if c.Pooling > PoolRank {
		r.refuse("pooling_type", "is %d, want at most %d", c.Pooling, PoolRank)
	}
	if e, ok := set.Tensor("token_embd.weight"); ok && len(e.Shape) == 2 {
		c.Vocab = e.Shape[0]
	} else if r.err == nil {
		r.err = fmt.Errorf("%w: no token_embd.weight", ErrFormat)
	}
	return c, r.err
}

// moeArchs are the architectures that may have experts.
var moeArchs = map[string]bool{"afmoe": true, "deepseek": true, "exaone-moe": true, "bailingmoe": true, "bailingmoe2": true, "dots1": true, "hunyuan-moe": true, "olmoe": true, "ernie4_5-moe": true, "gemma4": true, "glm4moe": true, "granitehybrid": true, "granitemoe": true, "jamba": true, "nemotron_h_moe": true, "lfm2moe": true, "qwen35moe": true, "qwen3next": true, "deepseek2": true, "mistral4": true, "llama4": true, "minimax-m2": true, "mistral3": true, "gpt-oss": true, "llama": true, "phimoe": true, "qwen2moe": true, "qwen3moe": true, "qwen3vlmoe": true}

// layerNormed are the architectures whose norms are LayerNorm, beside some of decoders.
var layerNormed = map[string]bool{"bert": true, "modern-bert": true, "jina-bert-v2": true, "nomic-bert": true, "rwkv7": true}

// eps reads the epsilon of LayerNorm or of RMSNorm, and the other one where a
// file has only that.
func (r *reader) eps(layerNorm bool) float32 {
	key, other := "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"
	if layerNorm {
		key, other = other, key
	}
	if _, ok := r.value(key); !ok {
		key = other
	}
	return float32(r.positive(key, 1e-5))
}

// windows reads the sliding window of a model, def where the file has none, and which
// of its layers have it: nil for none. A file may say so by layer, or that every so
// manieth sees everything; otherwise every full-th does.
func (r *reader) windows(c *Config, full, def int) []bool { return r.windowsFrom(c, full, 1, def) }

// windowsFrom is windows for counting the layers from first: with 0 the first layer sees
// everything.
func (r *reader) windowsFrom(c *Config, full, first, def int) []bool {
	const key = "attention.sliding_window_pattern"
	slides := make([]bool, c.Layers)
	every := func(full int64) {
		for i := range slides {
			slides[i] = int64(i+first)%full != 0
		}
	}
	every(int64(full))
	switch v, ok := r.value(key); v := v.(type) {
	case []bool:
		if len(v) < c.Layers {
			r.fail(key, "has %d entries for %d layers", len(v), c.Layers)
			return nil
		}
		copy(slides, v)
	case int64:
		if v < 1 {
			r.fail(key, "is %d, want 1 or more", v)
			return nil
		}
		every(v)
	default:
		if ok {
			r.fail(key, "is neither an integer nor a list of booleans")
		}
	}
	if c.Window = r.upTo("attention.sliding_window", maxContext); c.Window == 0 {
		c.Window = def
	}
	if c.Window == 0 {
		return nil
	}
	return slides
}

// sameBase refuses layers with a window that rotate by a base of their own.
func (r *reader) sameBase(c *Config) {
	const key = "rope.freq_base_swa"
	if b := r.positive(key, c.Rope.Base); b != c.Rope.Base {
		r.refuse(key, "is %g, want %g as in the other layers", b, c.Rope.Base)
	}
}

// logMultiplier is the mscale_all_dim of Hugging Face's YaRN, by which the magnitude of
// rotations is made smaller; 0 for none. Architectures write it differently.
func (r *reader) logMultiplier(c *Config) float64 {
	const key = "rope.scaling.yarn_log_multiplier"
	switch {
	case c.Arch == "mistral3":
		return r.float(key, 0)
	case latentArchs[c.Arch] && c.Arch != "minicpm3":
		return 10 * r.float(key, 0) // it holds a tenth
	}
	return 0 // a file that has it is refused
}

func (r *reader) rope(c *Config) RopeConfig {
	rc := RopeConfig{
		Dim:        r.countOr("rope.dimension_count", c.HeadDim, c.HeadDim),
		Base:       r.positive("rope.freq_base", 10000),
		Factor:     1,
		Original:   r.countOr("rope.scaling.original_context_length", maxContext, c.Context),
		AttnFactor: r.positive("rope.scaling.attn_factor", 1),
		ExtFactor:  r.float("rope.scaling.yarn_ext_factor", 1),
		BetaFast:   r.positive("rope.scaling.yarn_beta_fast", 32),
		BetaSlow:   r.positive("rope.scaling.yarn_beta_slow", 1),
	}
	// No key of GGUF's: llama.cpp always rounds, and so does quern with its files.
	rc.Exact = !r.flag("rope.scaling.yarn_truncate", true)
	if rc.Dim%2 != 0 {
		r.fail("rope.dimension_count", "is %d, want an even number", rc.Dim)
	}
	// Files older than rope.scaling.type have only a factor, which is linear.
	factor := r.float("rope.scaling.factor", r.float("rope.scale_linear", 1))
	if factor == 0 {
		factor = 1 // as good as none
	}
	if factor < 0 {
		r.fail("rope.scaling.factor", "is %g, want more than 0", factor)
	}
	kind, given := r.value("rope.scaling.type")
	magnitude := r.float("rope.scaling.yarn_attn_factor", 0)
	switch {
	case !given && factor != 1, kind == "linear":
		rc.Scaling, rc.Factor = "linear", factor
	case !given, kind == "", kind == "none":
	case kind == "yarn":
		rc.Scaling, rc.Factor = "yarn", factor
		if by := r.logMultiplier(c); by > 0 {
			if c.Arch == "deepseek2" {
				by = 1 // these files have no mscale: it is the same, and rotations keep their size
			}
			rc.AttnFactor /= 1 + 0.1*by*math.Log(factor)
		}
		if magnitude > 0 && rc.ExtFactor != 0 {
			rc.AttnFactor *= magnitude / (1 + 0.1*math.Log(factor)) // it stands for the usual one
		}
	case kind == "longrope": // its factors are tensors
		if factor != 1 {
			r.refuse("rope.scaling.factor", "is %g for longrope, want none", factor)
		}
	default:
		r.refuse("rope.scaling.type", "is %v", kind)
	}
	return rc
}
