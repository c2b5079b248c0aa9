package token_test

import (
	"fmt"
	"log"

	"quern/engine/token"
)

func Example() {
	// A model's file says all this: token.From reads it there.
	v, err := token.New(token.Spec{
		Model: "gpt2", Tokens: []string{"h", "e", "l", "o", "he", "ll", "hell", "hello", "<|end|>"},
		Merges:  [][2]string{{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}},
		Kinds:   []token.Kind{1, 1, 1, 1, 1, 1, 1, 1, token.Control},
		Special: map[token.Role]token.ID{token.EOS: 8},
	})
	if err != nil {
		log.Fatal(err)
	}
	ids := v.Encode(nil, "hellohell", false)
	fmt.Println(ids, v.Decode(ids, token.DecodeOptions{}), v.Ends(8))
	// Output:
	// [7 6] hellohell true
}
