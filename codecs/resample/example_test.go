package resample_test

import (
	"fmt"
	"log"

	"quern/codecs/resample"
)

// A second at 44.1 kHz becomes a second at 16 kHz, in pieces of any size.
func Example() {
	r, err := resample.New(44100, 16000, 1)
	if err != nil {
		log.Fatal(err)
	}
	var out []float32
	for range 10 {
		out = r.Process(out, make([]float32, 4410))
	}
	fmt.Println(len(r.Flush(out)))
	// Output:
	// 16000
}
