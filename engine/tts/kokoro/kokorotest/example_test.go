package kokorotest_test

import (
	"fmt"
	"log"

	"quern/engine/tts/kokoro/kokorotest"
	"quern/formats/safetensors"
)

func ExamplePublished() {
	tiny, err := safetensors.Open("../testdata/kokoro-tiny.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer tiny.Close()
	full, err := kokorotest.Published(tiny, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(full.Len() == tiny.Len(), full.Bytes() > 50*tiny.Bytes())
	// Output:
	// true true
}
