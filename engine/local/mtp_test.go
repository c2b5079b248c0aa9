package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/formats/gguf"
)

// withLayer writes a model that has a layer that drafts, with a vocabulary of letters.
func withLayer(t *testing.T) string {
	t.Helper()
	set, err := gguf.Open("../model/testdata/made/glm4moe/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tokens, kinds := []string{"<unk>", "<s>", "</s>", "▁"}, []int64{2, 3, 3, 1}
	for c := 'a'; len(tokens) < 48; c++ {
		if c > 'z' {
			c = '0' - 'z' - 1 + c
		}
		tokens, kinds = append(tokens, string(c)), append(kinds, 1)
	}
	set.Meta.Set("tokenizer.ggml.model", "llama")
	set.Meta.Set("tokenizer.ggml.tokens", tokens)
	set.Meta.Set("tokenizer.ggml.scores", make([]float64, len(tokens)))
	set.Meta.Set("tokenizer.ggml.token_type", kinds)
	set.Meta.Set("tokenizer.ggml.unknown_token_id", int64(0))
	set.Meta.Set("tokenizer.ggml.bos_token_id", int64(1))
	set.Meta.Set("tokenizer.ggml.eos_token_id", int64(2))
	var list []gguf.Stream
	for x := range set.All() {
		list = append(list, gguf.StreamOf(x))
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := gguf.Write(f, &set.Meta, list); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMTP: a model whose own layer drafts answers as without, and what that takes is counted. A
// model without such a layer is refused by name, and so is one that would not be asked.
func TestMTP(t *testing.T) {
	path := withLayer(t)
	e := open(t, engine.Options{Models: []engine.ModelOptions{
		{Name: "mtp", Path: path, ContextLength: 256, Speculation: engine.SpeculationMTP},
		{Name: "plain", Path: path, ContextLength: 256, Speculation: engine.SpeculationOff},
	}})
	r := engine.GenerateRequest{Prompt: engine.Prompt{Text: "a list of what comes next"}, MaxTokens: 120, IgnoreEOS: true}
	drawn := r
	drawn.N, drawn.Sample.Temperature, drawn.Sample.Seed, drawn.Sample.Logprobs = 3, 0.7, 5, true
	stopped := r
	stopped.Stop = []string{"q", "7"}
	for _, r := range []engine.GenerateRequest{r, drawn, stopped} {
		want, err := gather(t.Context(), e, "plain", r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := gather(t.Context(), e, "mtp", r)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.text, want.text) || !slices.Equal(got.reason, want.reason) || got.done.OutputTokens != want.done.OutputTokens {
			t.Errorf("%q, %v, want %q, %v", got.text, got.reason, want.text, want.reason)
		}
	}
	var mtp, plain engine.ModelStats
	for _, s := range e.Stats().Models {
		switch s.Model {
		case "mtp":
			mtp = s
		case "plain":
			plain = s
		}
	}
	if mtp.DraftTokens == 0 || len(mtp.AcceptedAt) != engine.DefaultDraftTokens || mtp.WeightBytes <= plain.WeightBytes || 2*mtp.CacheBytes != 3*plain.CacheBytes || mtp.Fingerprint != plain.Fingerprint {
		t.Errorf("of two layers and one that drafts: %+v, without that %+v", mtp, plain)
	}
	for _, tt := range []struct {
		name  string
		o     engine.ModelOptions
		limit int64
		says  []string
	}{
		{"no layer", engine.ModelOptions{Path: "../builtin/quern-tiny.gguf", Speculation: engine.SpeculationMTP}, 0, []string{`model "x" cannot have speculation: mtp`, "nextn", "speculation: lookup"}},
		{"a model beside it", engine.ModelOptions{Path: path, Speculation: engine.SpeculationMTP, Draft: "small"}, 0, []string{`model "x"`, "with speculation: mtp no model is asked"}},
		{"a model beside lookup", engine.ModelOptions{Path: path, Speculation: engine.SpeculationLookup, Draft: "small"}, 0, []string{"with speculation: lookup no model is asked"}},
		{"no room", engine.ModelOptions{Path: path, Speculation: engine.SpeculationMTP, ContextLength: 256}, 500 << 10, []string{"memory_limit", "drafting layer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Name = "x"
			e := open(t, engine.Options{MemoryLimit: tt.limit, Models: []engine.ModelOptions{tt.o}})
			_, err := gather(t.Context(), e, "x", r)
			for _, says := range tt.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v does not say %q", err, says)
				}
			}
		})
	}
}
