package model_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/model"
	"quern/formats/weights"
)

// renamed returns set with keys of other names, or without them where the new
// name is empty.
func renamed(set *weights.Set, names map[string]string) *weights.Set {
	var meta weights.Meta
	for key, v := range set.Meta.All() {
		if to, ok := names[key]; ok {
			key = to
		}
		if key != "" {
			meta.Set(key, v)
		}
	}
	set.Meta = meta
	return set
}

// Ollama's gemma3 has other names for its bases: the numbers are those of the
// same file with GGUF's keys.
func TestOllamaGemma3(t *testing.T) {
	dir := fixtures.Path(t, "llm", "gemma3")
	set := open(t, filepath.Join(dir, "model.gguf"))
	set = renamed(set, map[string]string{"gemma3.rope.freq_base": "gemma3.rope.global.freq_base"})
	set.Meta.Set("gemma3.rope.local.freq_base", 10000.0)
	compareLogits(t, set, readGolden(t, filepath.Join(dir, "golden-hf-f64.json")), 1e-4)
}

// What Ollama's gemma3 files leave out has the values its engine has.
func TestOllamaGemma3Unsaid(t *testing.T) {
	plain := map[string]string{
		"gemma3.rope.freq_base": "", "gemma3.attention.layer_norm_rms_epsilon": "",
		"gemma3.rope.scaling.type": "", "gemma3.rope.scaling.factor": "",
	}
	for _, tt := range []struct {
		name, key string
		value     weights.Value
		scaling   string
		factor    float64
	}{
		{"1B", "gemma3.context_length", int64(32768), "", 1},
		{"4B, sees images", "gemma3.mm.tokens_per_image", int64(256), "linear", 8},
		{"4B, encoder of images", "gemma3.vision.block_count", int64(27), "linear", 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := renamed(open(t, filepath.Join(fixtures.Path(t, "llm", "gemma3"), "model.gguf")), plain)
			set.Meta.Set(tt.key, tt.value)
			m, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			c := m.Config()
			if c.Eps != 1e-6 || c.Rope.Base != 1e6 || c.Rope.Scaling != tt.scaling || c.Rope.Factor != tt.factor {
				t.Errorf("epsilon %g, base %g, scaling %q by %g; want 1e-6, 1e6, %q by %g", c.Eps, c.Rope.Base, c.Rope.Scaling, c.Rope.Factor, tt.scaling, tt.factor)
			}
		})
	}
}

// A key under two names must have one value; a list is no value of a number.
func TestOtherNames(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		value     weights.Value
		want      string // of the refusal, "" when it is accepted
	}{
		{"Ollama's width of a head", "llama.attention.head_dim", int64(0), ""}, // 0: as the file has it
		{"another width", "llama.attention.head_dim", int64(7), "head_dim"},
		{"another base", "llama.rope.global.freq_base", 123.0, "freq_base"},
		{"lists", "llama.rope.global.freq_base", []float64{1, 2}, "freq_base"},
		{"Ollama's vectors", "llama.normalize_embeddings", true, ""},
		{"images beside the text", "llama.rope.dimension_sections", []int64{8, 8, 8, 0}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := open(t, "testdata/llama-Q4_K_M.gguf")
			m, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			set.Meta.Set("llama.attention.key_length", int64(m.Config().HeadDim))
			set.Meta.Set("llama.rope.freq_base", m.Config().Rope.Base)
			if tt.name == "lists" {
				set.Meta.Set("llama.rope.freq_base", []float64{1, 2})
			}
			if tt.value == int64(0) {
				tt.value = int64(m.Config().HeadDim)
			}
			set.Meta.Set(tt.key, tt.value)
			_, err = model.Open(set)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) ||
				!errors.Is(err, model.ErrUnsupported) && !errors.Is(err, model.ErrFormat)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
