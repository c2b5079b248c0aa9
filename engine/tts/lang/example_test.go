package lang_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/tts/lang"
)

func Example() {
	tokens, err := lang.Find("es").Read(context.Background(), "El 3 de mayo", lang.Reading{})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tokens {
		fmt.Println(t.Text, t.Phonemes)
	}
	// Output:
	// el el
	// tres tɾˈes
	// de ðe
	// mayo mˈaʝo
}
