package constrain_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine"
	"quern/engine/constrain"
	"quern/engine/token"
)

// A reply that has to be one of two words, token by token.
func Example() {
	vocab, err := token.New(token.Spec{
		Model: "llama", Tokens: []string{"<end>", "y", "es", "n", "o", "maybe"}, Scores: make([]float32, 6),
		Kinds: []token.Kind{0: token.Control, 5: token.Normal}, Special: map[token.Role]token.ID{token.EOS: 0},
	})
	if err != nil {
		log.Fatal(err)
	}
	forms := constrain.New(vocab) // once a model
	g, err := forms.Compile(context.Background(), &engine.Constraint{Form: engine.FormChoice, Choices: []string{"yes", "no"}, Param: "choice"})
	if err != nil {
		log.Fatal(err)
	}
	m := g.Mask() // once a reply
	for _, id := range []token.ID{1, 2} {
		bits, err := m.Bits()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%06b\n", bits[0])
		if err := m.Accept(id); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("only the end:", m.Ended())
	// Output:
	// 001010
	// 000100
	// only the end: true
}
