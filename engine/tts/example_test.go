package tts_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/tts"
)

// The voice that is built in speaks, the first utterance first.
func ExampleSpeak() {
	p, err := tts.NewPronouncer(nil)
	if err != nil {
		log.Fatal(err)
	}
	s := tts.Formant()
	const text = "Hello there."
	for c, err := range tts.Speak(context.Background(), s, p, tts.Request{Text: text, Voice: s.Voices()[0].ID, Speed: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text[c.Start:c.End], len(c.Samples) > s.Rate()/2, len(c.Words), "words")
	}
	// Output:
	// Hello there. true 2 words
}
