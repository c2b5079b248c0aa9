package webm_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"quern/codecs/webm"
)

func ExampleReader() {
	f, err := os.Open("testdata/vorbis.webm")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := webm.NewReader(f)
	if err != nil {
		log.Fatal(err)
	}
	samples, buf := 0, make([]float32, 4096)
	for err == nil {
		var n int
		n, err = r.Read(buf)
		samples += n
	}
	fmt.Println(r.Codec(), r.Rate(), "Hz,", r.Channels(), "channels,", samples, "samples;", err == io.EOF)
	// Output:
	// Vorbis 16000 Hz, 1 channels, 2048 samples; true
}
