package local

import (
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
)

// A real, tiny model continues as llama2.c and llama.cpp do.
func TestStories(t *testing.T) {
	path := fixtures.Path(t, "real", "stories260K.gguf")
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "stories", Path: path}}})
	res, err := gather(t.Context(), e, "stories", engine.GenerateRequest{Prompt: engine.Prompt{Text: "Once upon a time"}, MaxTokens: 200})
	if err != nil {
		t.Fatal(err)
	}
	const want = ", there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big, red ball. She wanted to play with it, but it was too high."
	if !strings.HasPrefix(res.text[0], want) {
		t.Errorf("the story goes %q, want it to begin %q", res.text[0], want)
	}
}
