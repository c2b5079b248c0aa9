package model

import (
	"math"

	"quern/formats/weights"
)

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
	base := get("rope_theta", "rotary_emb_base", "global_rope_theta")
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
	if v := rope["alpha"]; v != nil && kind != "dynamic" {
		c.refuse("rope parameter alpha with rope scaling %q", kind)
	}
	if rope["llama_4_scaling_beta"] != nil && c.arch != "mistral3" && c.arch != "mistral4" {
		c.refuse("rope parameter llama_4_scaling_beta in a model of type %s", c.kind)
	}
	switch kind {
	case "", "default", "mrope":
	case "dynamic":
		// It only changes texts beyond the context the model was made for, but for
		// Hunyuan's alpha, which is a larger base for all.
		if rope["alpha"] == nil {
			break
		}
		if float("factor", 1) != 1 || dim <= 2 {
			c.refuse("rope scaling by an alpha with a factor of %v", rope["factor"])
			break
		}
		theta, _ := number(base)
		put("rope.freq_base", theta*math.Pow(float("alpha", 0), float64(dim)/float64(dim-2)))
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
		c.magnitude(rope, factor, get("attention_factor"), put)
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

// magnitude says by what YaRN multiplies rotations, and in latent attention the scores.
func (c *hfConfig) magnitude(rope map[string]any, factor float64, given any, put func(string, any)) {
	by := func(k float64) float64 { return 1 + 0.1*k*math.Log(factor) }
	m, ok1 := number(rope["mscale"])
	all, ok2 := number(rope["mscale_all_dim"])
	if ok1 && m < 0 || ok2 && all < 0 {
		c.fail("rope parameters mscale %g and mscale_all_dim %g", m, all)
	}
	size := by(1)
	if m != 0 && all != 0 {
		size = by(m) / by(all)
	}
	if given != nil {
		var ok bool
		if size, ok = number(given); !ok || !(size > 0) || math.IsInf(size, 0) {
			c.fail("rope parameter attention_factor is %v, want a number above 0", given)
			return
		}
	}
	usual := by(1) // what files without further keys are read to have
	// Programs disagree whether Mistral 4's scores are scaled as well; its own parameters
	// may say not to, which leaves what both do to rotations.
	off := rope["apply_scale"] == false || rope["apply_yarn_scaling"] == false || c.m["apply_yarn_scaling"] == false
	switch {
	case all == 0 || off:
	case c.arch == "mistral3":
		put("rope.scaling.yarn_log_multiplier", all)
		usual = by(1) / by(all)
	case latentArchs[c.arch]:
		put("rope.scaling.yarn_log_multiplier", 0.1*all) // as GGUF files of these have it
		if usual = 1; c.arch != "deepseek2" {
			usual = by(1) / by(all)
		}
	}
	if size != usual {
		put("rope.scaling.attn_factor", size/usual)
	}
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
