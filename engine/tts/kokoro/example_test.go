package kokoro_test

import (
	"fmt"
	"log"

	"quern/engine/tts/kokoro"
)

func ExampleMix() {
	a, err := kokoro.NewVoice([]float32{0, 0, 1, 1}, 2)
	if err != nil {
		log.Fatal(err)
	}
	b, err := kokoro.NewVoice([]float32{4, 8, 5, 9}, 2)
	if err != nil {
		log.Fatal(err)
	}
	v, err := kokoro.Mix([]*kokoro.Voice{a, b}, []float64{0.75, 0.25})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Style(1), v.Style(2))
	// Output:
	// [1 2] [2 3]
}
