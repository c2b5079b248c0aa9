package model

import (
	"slices"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// Skipped counts the tensors of a text model's file that its replies do not depend on: those of
// image and audio encoders, and those of layers that draft further tokens.
func Skipped(set *weights.Set) (senses, drafts int) {
	sense, draft := ggufSkipped(set)
	if set.Source == weights.SafeTensors && set.Meta.String("general.architecture") == "" {
		sense, draft = hfSkipped(set)
	}
	for t := range set.All() {
		switch {
		case sense(t.Name):
			senses++
		case draft(t.Name):
			drafts++
		}
	}
	return senses, drafts
}

// layerOf is the number behind before in a tensor's name, -1 where there is none.
func layerOf(name, before string) int {
	_, rest, _ := strings.Cut(name, before)
	number, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(number); err == nil {
		return n
	}
	return -1
}

func ggufSkipped(set *weights.Set) (sense, draft func(string) bool) {
	first, some := draftingLayers(set)
	draft = func(name string) bool {
		return some > 0 && strings.HasPrefix(name, "blk.") && int64(layerOf(name, "blk.")) >= first
	}
	return sees, draft
}

// draftingLayers are the layers of a set in GGUF's terms that draft: the first, and how many.
func draftingLayers(set *weights.Set) (first, some int64) {
	prefix := set.Meta.String("general.architecture") + "."
	blocks, _ := set.Meta.Int(prefix + "block_count")
	some, _ = set.Meta.Int(prefix + "nextn_predict_layers")
	return blocks - some, some
}

func hfSkipped(set *weights.Set) (sense, draft func(string) bool) {
	layers := int64(maxLayers)
	if c, err := parseHF(set.Meta.String("hf.config")); err == nil && c.m["num_nextn_predict_layers"] != nil {
		layers = c.int("num_hidden_layers", layers)
	}
	sense = func(name string) bool { return hasPart(name, hfSenses) }
	draft = func(name string) bool { return hasPart(name, hfDrafts) || int64(layerOf(name, "layers.")) >= layers }
	return sense, draft
}

// Models with image or audio encoders, of which quern runs the text model.

// hfWrapped are the model types that hold a text model of another type, which its own part of
// config.json names. Those whose text comes with the type alone are in hfFamilies.
var hfWrapped = map[string]bool{
	"NemotronH_Nano_VL_V2": true, "aya_vision": true, "cohere2_vision": true, "exaone4_5": true, "glm4v": true, "glm4v_moe": true, "idefics3": true,
	"internvl": true, "internvl_chat": true, "kimi_k25": true, "kimi_vl": true, "lfm2_vl": true, "llava": true, "llava_next": true, "mistral3": true, "qwen2_5_omni": true, "qwen3_omni_moe": true, "smolvlm": true, "voxtral": true,
}

// hfTextTypes are the types that wrapped text models go by, where they have one of their own.
var hfTextTypes = map[string]string{"glm4v_text": "glm4", "glm4v_moe_text": "glm4_moe", "qwen3_vl_text": "qwen3_vl", "qwen3_vl_moe_text": "qwen3_vl_moe", "qwen2_5_vl_text": "qwen2_5_vl", "qwen2_vl_text": "qwen2_vl", "qwen2_5_omni_text": "qwen2_5_vl", "qwen3_omni_moe_text": "qwen3_vl_moe"}

// unwrap takes the part of config.json that concerns text.
func (c *hfConfig) unwrap() {
	if inner, ok := c.m["thinker_config"].(map[string]any); ok { // beside what speaks
		c.m = inner
	}
	for _, key := range []string{"text_config", "llm_config"} {
		inner, ok := c.m[key].(map[string]any)
		if !ok {
			continue
		}
		for _, k := range []string{"tie_word_embeddings", "quantization_config"} {
			if v, given := c.m[k]; given && inner[k] == nil {
				inner[k] = v
			}
		}
		c.m = inner
		if kind, _ := inner["model_type"].(string); hfWrapped[c.kind] && kind != "" {
			c.kind = kind
		}
		break
	}
	if kind := hfTextTypes[c.kind]; kind != "" {
		c.kind = kind
	}
}

// hfPrefixes are what names of tensors begin with, one after the other.
var hfPrefixes = []string{"thinker.", "language_model.", "model.", "decoder.", "language_model.", "text_model.", "backbone.", "transformer.", "bert.", "roberta.", "gpt_neox."}

// hfUnused are parts of names that text generation and embedding do without:
// numbers that follow from others, and the heads and senses of larger models.
var hfUnused = []string{
	"rotary_emb.inv_freq", "position_ids", "attention.bias", "attention.masked_bias", "pooler.", "cls.",
}

// hfSenses are parts of names of tensors for images, audio and speech.
var hfSenses = []string{
	"visual.", "vision_tower.", "vision_model.", "vision_encoder.", "vision_embedder.", "embed_vision.", "embed_audio.", "multi_modal_projector.", "mm_projector.", "connector.", "mlp1.", "image_newline",
	"audio_tower.", "audio_encoder.", "sound_encoder.", "sound_projection.", "talker.", "token2wav.", "code2wav.",
}

// hfDrafts are parts of names of what drafts further tokens.
var hfDrafts = []string{"mtp.", "mtp_block.", "mtp_emb_norm.", "mtp_hidden_norm.", "mtp_linear_proj.", "mtp_layers."}

// unused reports whether a model writes text without a tensor.
func unused(name string) bool {
	return hasPart(name, hfUnused) || hasPart(name, hfSenses) || hasPart(name, hfDrafts)
}

// hasPart reports whether a name begins with one of the parts, or has one behind a dot.
func hasPart(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.HasPrefix(name, part) || strings.Contains(name, "."+part)
	})
}
