package embed_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/embed"
	"quern/engine/lm"
	"quern/engine/token"
	"quern/formats/gguf"
)

// lengths makes the vector of a text: its tokens, and one.
type lengths struct{}

func (lengths) Run(_ context.Context, texts [][]token.ID, _ [][]int64) (out [][]float32, err error) {
	for _, t := range texts {
		out = append(out, []float32{float32(len(t)), 1})
	}
	return out, nil
}

// Vectors have length 1 unless they are asked for raw.
func Example() {
	set, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		log.Fatal(err)
	}
	spec, err := token.From(&set.Meta)
	if err != nil {
		log.Fatal(err)
	}
	v, err := token.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	m, err := embed.New(ctx, lm.Reader{ID: "m", Vocab: v, Tokens: v.Size(), Context: 64, Texts: lm.TextBudget()}, embed.Training{}, lengths{}, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, raw := range []bool{true, false} {
		r, err := m.Embed(ctx, engine.EmbedRequest{Inputs: []engine.EmbedInput{{Tokens: []token.ID{1, 2, 3}}}, Raw: raw})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f of %d tokens\n", r.Vectors[0], r.PromptTokens)
	}
	// Output:
	// [3.000 1.000] of 3 tokens
	// [0.949 0.316] of 3 tokens
}
