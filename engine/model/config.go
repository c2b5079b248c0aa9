package model

import (
	"fmt"
	"math"

	"quern/formats/weights"
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
	Pooling Pooling // of embeddings, when the file says so
	Encoder bool    // every token sees its whole text: it makes embeddings, not logits
	Window  int     // tokens a layer with a sliding window sees, 0 when the file has none

	// Of a mixture of experts: how many a layer has, how many a token uses, and
	// the width inside one, which is FF when the file does not say.
	Experts, Used, ExpertFF int

	// Served is the longest sequence the recording is for, 0 for Context. Whoever
	// records may set it: Phi-3's long files rotate by it.
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

// A reader takes typed values out of metadata under one prefix. Its first
// error sticks.
type reader struct {
	meta   *weights.Meta
	prefix string
	err    error
}

func (r *reader) fail(key, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s%s %s", ErrFormat, r.prefix, key, fmt.Sprintf(format, args...))
	}
}

// count reads an integer in [1, max].
func (r *reader) count(key string, max int) int {
	n, ok := r.meta.Int(r.prefix + key)
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
	if _, ok := r.meta.Lookup(r.prefix + key); !ok {
		return def
	}
	return r.count(key, max)
}

// upTo reads an integer in [0, max], 0 when it is absent.
func (r *reader) upTo(key string, max int) int {
	if n, ok := r.meta.Int(r.prefix + key); ok && n == 0 {
		return 0
	}
	return r.countOr(key, max, 0)
}

// perLayer reads an integer, or an array of one integer per layer that are all
// the same.
func (r *reader) perLayer(key string, max, layers, def int) int {
	list := r.meta.Ints(r.prefix + key)
	if list == nil {
		return r.countOr(key, max, def)
	}
	if len(list) != layers {
		r.fail(key, "has %d entries for %d layers", len(list), layers)
		return 1
	}
	for _, n := range list {
		if n != list[0] {
			if r.err == nil {
				r.err = fmt.Errorf("%w: %s%s differs between layers", ErrUnsupported, r.prefix, key)
			}
			return 1
		}
	}
	if list[0] < 1 || list[0] > int64(max) {
		r.fail(key, "is %d, outside 1 to %d", list[0], max)
		return 1
	}
	return int(list[0])
}

// float reads a finite number; an integer will do.
func (r *reader) float(key string, def float64) float64 {
	v, ok := r.meta.Lookup(r.prefix + key)
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
func ggufConfig(set *weights.Set) (Config, error) {
	arch := set.Meta.String("general.architecture")
	r := &reader{meta: &set.Meta, prefix: arch + "."}
	c := Config{
		Arch:    arch,
		Layers:  r.count("block_count", maxLayers),
		Hidden:  r.count("embedding_length", maxWidth),
		Context: r.count("context_length", maxContext),
	}
	c.FF = r.perLayer("feed_forward_length", maxWidth, c.Layers, 1)
	c.Heads = r.perLayer("attention.head_count", maxHeads, c.Layers, 1)
	c.KVHeads = r.perLayer("attention.head_count_kv", maxHeads, c.Layers, c.Heads)
	c.HeadDim = r.countOr("attention.key_length", maxWidth, max(1, c.Hidden/c.Heads))
	if v := r.countOr("attention.value_length", maxWidth, c.HeadDim); v != c.HeadDim && r.err == nil {
		r.err = fmt.Errorf("%w: keys of %d with values of %d", ErrUnsupported, c.HeadDim, v)
	}
	if c.Heads%c.KVHeads != 0 {
		r.fail("attention.head_count_kv", "is %d for %d heads", c.KVHeads, c.Heads)
	}
	eps := "attention.layer_norm_rms_epsilon"
	if _, ok := set.Meta.Lookup(r.prefix + eps); !ok {
		eps = "attention.layer_norm_epsilon"
	}
	c.Eps = float32(r.positive(eps, 1e-5))
	c.Window = r.upTo("attention.sliding_window", maxContext)
	c.Experts = r.upTo("expert_count", maxExperts)
	if c.Experts > 0 {
		c.Used = r.count("expert_used_count", c.Experts)
		c.ExpertFF = r.countOr("expert_feed_forward_length", maxWidth, c.FF)
		if f := r.float("expert_weights_scale", 1); f != 0 && f != 1 && r.err == nil {
			r.err = fmt.Errorf("%w: expert weights scaled by %g", ErrUnsupported, f)
		}
	}
	c.Rope = r.rope(&c)
	c.Pooling = Pooling(r.upTo("pooling_type", maxHeads))
	if c.Pooling > PoolLast && r.err == nil {
		r.err = fmt.Errorf("%w: pooling of type %d", ErrUnsupported, c.Pooling)
	}
	if e, ok := set.Tensor("token_embd.weight"); ok && len(e.Shape) == 2 {
		c.Vocab = e.Shape[0]
	} else if r.err == nil {
		r.err = fmt.Errorf("%w: no token_embd.weight", ErrFormat)
	}
	return c, r.err
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
	if round, ok := r.meta.Bool(r.prefix + "rope.scaling.yarn_truncate"); ok {
		rc.Exact = !round
	}
	if rc.Dim%2 != 0 {
		r.fail("rope.dimension_count", "is %d, want an even number", rc.Dim)
	}
	switch kind := r.meta.String(r.prefix + "rope.scaling.type"); kind {
	case "", "none":
		// Files older than rope.scaling.type have only the linear factor.
		if f := r.positive("rope.scale_linear", 1); f != 1 {
			rc.Scaling, rc.Factor = "linear", f
		}
	case "longrope": // its factors are tensors
	case "linear", "yarn":
		rc.Scaling, rc.Factor = kind, r.positive("rope.scaling.factor", 1)
	default:
		if r.err == nil {
			r.err = fmt.Errorf("%w: rope scaling %q", ErrUnsupported, kind)
		}
	}
	return rc
}
