package wav_test

import (
	"bytes"
	"fmt"
	"log"

	"quern/codecs/pcm"
	"quern/codecs/wav"
)

func Example() {
	var file bytes.Buffer
	w := wav.NewBufferedWriter(&file, 8000, 1, pcm.S16)
	if err := w.Write([]float32{0, 0.5, -0.25}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := wav.NewReader(&file)
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float32, 8)
	n, err := r.Read(x)
	fmt.Println(r.Rate(), r.Duration(), x[:n], err)
	// Output:
	// 8000 375µs [0 0.5 -0.25] <nil>
}
