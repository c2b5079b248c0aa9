package formant_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/tts/formant"
)

func ExampleVoice_Speak() {
	v, ok := formant.Find("af_bella")
	if !ok {
		log.Fatal("no such voice")
	}
	symbols := []rune("həlˈO")
	samples, spans, err := v.Speak(context.Background(), symbols, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	sum := 0
	for _, n := range spans { // lead-in, each symbol, lead-out
		sum += n
	}
	fmt.Println(len(spans) == len(symbols)+2, sum == len(samples))
	// Output:
	// true true
}
