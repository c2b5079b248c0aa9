package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// Ollama's gemma3:1b names a token more, of images, than there are embeddings.
// It continues a text as the file without that token does.
func TestTokenWithoutEmbedding(t *testing.T) {
	path := fixtures.Path(t, "llm", "gemma3", "model.gguf")
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	set.Meta.Set("tokenizer.ggml.tokens", append(slices.Clone(set.Meta.Strings("tokenizer.ggml.tokens")), "<image_soft_token>"))
	set.Meta.Set("tokenizer.ggml.scores", append(slices.Clone(set.Meta.Floats("tokenizer.ggml.scores")), 0))
	set.Meta.Set("tokenizer.ggml.token_type", append(slices.Clone(set.Meta.Ints("tokenizer.ggml.token_type")), 3))
	more := filepath.Join(t.TempDir(), "model.gguf")
	f, err := os.Create(more)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []gguf.Stream
	for w := range set.All() {
		list = append(list, gguf.StreamOf(&weights.Tensor{Name: w.Name, Type: w.Type, Shape: w.Shape, Data: w.Data}))
	}
	if err := gguf.Write(f, &set.Meta, list); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "plain", Path: path}, {Name: "more", Path: more}}})
	var texts []string
	for _, model := range []string{"plain", "more"} {
		res, err := gather(t.Context(), e, model, engine.GenerateRequest{Prompt: engine.Prompt{Text: "Once upon a time"}, MaxTokens: 8})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, res.text[0])
	}
	if texts[0] != texts[1] {
		t.Errorf("%q, want %q", texts[1], texts[0])
	}
}
