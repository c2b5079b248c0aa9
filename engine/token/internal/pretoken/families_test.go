package pretoken_test

import (
	"slices"
	"testing"

	"quern/engine/token/internal/pretoken"
)

// The names that files of the families of 2024 to 2026 have, and the name under which
// TestPretokenizers holds the same regular expressions against JavaScript's.
func TestFamilyNames(t *testing.T) {
	for _, tt := range []struct {
		name, checked   string
		ignoreMerges    bool // as llama.cpp's loader has it, which files do not say
		addBOS, addsSEP bool
	}{
		{name: "qwen2", checked: "qwen2"},
		{name: "qwen35", checked: "qwen35"},
		{name: "falcon-h1", checked: "llama-bpe", ignoreMerges: true, addBOS: true},
		{name: "falcon3", checked: "llama-bpe", ignoreMerges: true, addBOS: true},
		{name: "lfm2", checked: "llama-bpe", ignoreMerges: true, addBOS: true},
		{name: "pixtral", checked: "llama-bpe", ignoreMerges: true, addBOS: true},
		{name: "tekken", checked: "tekken", ignoreMerges: true, addBOS: true},
		{name: "llama4", checked: "gpt-4o"},
		{name: "minimax-m2", checked: "gpt-4o"},
		{name: "deepseek-v3", checked: "deepseek-v3"},
		{name: "hunyuan-dense", checked: "deepseek-v3"},
		{name: "kimi-k2", checked: "kimi-k2"},
		{name: "gemma4", checked: "gemma4", addBOS: true},
		{name: "glm4", checked: "llama-bpe"},
		{name: "chatglm-bpe", checked: "llama-bpe"},
		{name: "dbrx", checked: "llama-bpe"},
		{name: "exaone4", checked: "gpt-2"},
		{name: "granite-docling", checked: "gpt-2"},
		{name: "command-r", checked: "starcoder"},
		{name: "refact", checked: "starcoder"},
		{name: "seed-coder", checked: "seed-coder"},
		{name: "smaug-bpe", checked: "llama-bpe"},
		{name: "stablelm2", checked: "qwen2"},
		{name: "hunyuan", checked: "qwen2"},
		{name: "bailingmoe", checked: "qwen2"},
		{name: "bailingmoe2", checked: "qwen2"},
		{name: "llada-moe", checked: "qwen2"},
		{name: "olmo", checked: "gpt-2"},
		{name: "mpt", checked: "gpt-2"},
		{name: "smollm", checked: "starcoder"},
		{name: "exaone", checked: "starcoder"},
	} {
		p, err := pretoken.Named(tt.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if q := pretoken.All[tt.checked]; !slices.Equal(p.Patterns, q.Patterns) {
			t.Errorf("%s has the patterns %q, want those of %s", tt.name, p.Patterns, tt.checked)
		}
		if p.IgnoreMerges != tt.ignoreMerges || p.AddBOS != tt.addBOS || p.AddSEP != tt.addsSEP {
			t.Errorf("%s: ignores merges %v, adds BOS %v and SEP %v", tt.name, p.IgnoreMerges, p.AddBOS, p.AddSEP)
		}
	}
}
