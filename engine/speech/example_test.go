package speech_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine"
	"quern/engine/speech"
	"quern/engine/tts"
)

// A voice speaks under its own name and under those of the configuration.
func Example() {
	reader := func() (*tts.Pronouncer, error) { return tts.NewPronouncer(nil) }
	m := speech.New("formant", tts.Formant(), reader, speech.Aliases{"narrator": "alloy"}, 1, 0)
	fmt.Println(m.CheckVoice("narrator", "en"))
	heard := 0
	for s, err := range m.Speak(context.Background(), engine.SpeakRequest{Text: "Hello.", Voice: "narrator"}) {
		if err != nil {
			log.Fatal(err)
		}
		heard += len(s.Samples)
	}
	fmt.Println(heard > 0, m.Stats().GeneratedTokens > 0)
	// Output:
	// <nil>
	// true true
}
