package textgen_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/lm"
	"quern/engine/textgen"
)

// A model reads a conversation as its template spells it. After Start it answers too.
func Example() {
	ctx := context.Background()
	set, err := lm.Open(lm.BuiltinPath)
	if err != nil {
		log.Fatal(err)
	}
	f := &lm.File{ID: "tiny", Raw: set}
	if err := f.Open(ctx, engine.ModelOptions{}, 1); err != nil {
		log.Fatal(err)
	}
	if err := f.OpenVocab(f.Config); err != nil {
		log.Fatal(err)
	}
	m, err := textgen.New(ctx, f.Reader(lm.TextBudget()), textgen.Templates{Own: set.Meta.String("tokenizer.chat_template")}, slog.New(slog.DiscardHandler))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	r, err := m.Tokenize(ctx, engine.TokenizeRequest{Prompt: engine.Prompt{Messages: []chat.Message{{Role: chat.RoleUser, Text: "Hello"}}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", r.Text)
	// Output:
	// "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
}
