package model

import "quern/formats/weights"

// otherNames are the keys of files that Ollama's converters wrote, by GGUF's key
// for the same number. Ollama's gemma3, which many have, is such a file.
var otherNames = map[string]string{
	"attention.key_length":         "attention.head_dim",
	"rope.freq_base":               "rope.global.freq_base",
	"rope.freq_base_swa":           "rope.local.freq_base",
	"rope.scaling.yarn_ext_factor": "rope.scaling.extrapolation_factor",
	"rope.scaling.yarn_beta_fast":  "rope.scaling.beta_fast",
	"rope.scaling.yarn_beta_slow":  "rope.scaling.beta_slow",
}

// unsaid are the values of keys that Ollama's gemma3 files leave out, because
// its own engine has them as constants: llama.cpp's files have these keys. Those
// that see images, 4B and larger, stretch positions eightfold.
func unsaid(set *weights.Set, arch string) map[string]weights.Value {
	if arch != "gemma3" {
		return nil
	}
	values := map[string]weights.Value{"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
	has := func(key string) bool {
		_, ok := set.Meta.Lookup("gemma3." + key)
		return ok
	}
	sees := has("mm.tokens_per_image") || has("vision.block_count")
	if sees && !has("rope.scaling.type") && !has("rope.scaling.factor") {
		values["rope.scaling.type"], values["rope.scaling.factor"] = "linear", 8.0
	}
	return values
}
