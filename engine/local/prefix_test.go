package local

import (
	"errors"
	"math"
	"slices"
	"testing"

	"quern/engine"
	"quern/engine/token"
)

// input_type puts before a text what the model was trained with, and dimensions
// cuts vectors of models that were trained for it.
func TestEmbedInputType(t *testing.T) {
	const bert = "../model/testdata/bert-mean-Q8_0.gguf"
	yes, query := true, "a b "
	e := open(t, engine.Options{Models: []engine.ModelOptions{
		{Name: "unknown", Path: bert}, {Name: "intfloat/e5-small-v2:Q8_0", Path: bert},
		{Name: "set", Path: bert, QueryPrefix: &query, Matryoshka: &yes},
	}})
	embed := func(model string, r engine.EmbedRequest, text string) ([]float32, error) {
		t.Helper()
		r.Inputs = append(r.Inputs, engine.EmbedInput{Text: text})
		res, err := e.Embed(t.Context(), model, r)
		if err != nil {
			return nil, err
		}
		return res.Vectors[0], nil
	}
	for _, tt := range []struct{ model, kind, prefix string }{
		{"intfloat/e5-small-v2:Q8_0", "query", "query: "}, {"intfloat/e5-small-v2:Q8_0", "document", "passage: "}, {"intfloat/e5-small-v2:Q8_0", "", ""},
		{"set", "query", query}, {"set", "document", ""},
	} {
		got, err := embed(tt.model, engine.EmbedRequest{InputType: tt.kind}, "c d")
		if err != nil {
			t.Fatal(err)
		}
		want, err := embed(tt.model, engine.EmbedRequest{}, tt.prefix+"c d")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s for %q is not that of %q: %v", tt.model, tt.kind, tt.prefix+"c d", err)
		}
	}
	var known *engine.Error
	if _, err := embed("unknown", engine.EmbedRequest{InputType: "query"}, "c"); !errors.As(err, &known) || known.Param != "input_type" {
		t.Errorf("a model nothing is known of: %v", err)
	}
	if _, err := e.Embed(t.Context(), "set", engine.EmbedRequest{InputType: "query", Inputs: []engine.EmbedInput{{Tokens: []token.ID{5}}}}); !errors.As(err, &known) || known.Param != "input" {
		t.Errorf("tokens with an input type: %v", err)
	}
	full, err := embed("set", engine.EmbedRequest{Raw: true}, "c d")
	if err != nil {
		t.Fatal(err)
	}
	cut, err := embed("set", engine.EmbedRequest{Dimensions: 7}, "c d")
	if err != nil || len(cut) != 7 {
		t.Fatalf("%d dimensions, %v; want 7", len(cut), err)
	}
	want := slices.Clone(full[:7])
	var square float64
	for _, x := range want {
		square += float64(x) * float64(x)
	}
	for i := range want {
		want[i] *= float32(1 / math.Sqrt(square))
	}
	if !slices.Equal(cut, want) {
		t.Errorf("cut to %v, want %v", cut, want)
	}
	for model, n := range map[string]int{"unknown": 7, "set": len(full) + 1} {
		if _, err := embed(model, engine.EmbedRequest{Dimensions: n}, "c"); !errors.As(err, &known) || known.Param != "dimensions" {
			t.Errorf("%s cut to %d: %v", model, n, err)
		}
	}
}
