package flac_test

import (
	"bytes"
	"fmt"
	"log"

	"quern/codecs/flac"
)

// What is written comes back as it was, to 16 bits.
func Example() {
	var file bytes.Buffer
	w, err := flac.NewWriter(&file, 8000, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Write([]float32{0, 0.5, -0.25, 1}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := flac.NewReader(&file)
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float32, 8)
	n, err := r.Read(x)
	fmt.Printf("%d Hz: %.4f %v\n", r.Rate(), x[:n], err)
	// Output:
	// 8000 Hz: [0.0000 0.5000 -0.2500 1.0000] <nil>
}
