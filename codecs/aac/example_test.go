package aac_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"quern/codecs/aac"
)

func ExampleReader() {
	f, err := os.Open("testdata/mono16.aac")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := aac.NewReader(f)
	if err != nil {
		log.Fatal(err)
	}
	samples, buf := 0, make([]float32, 4096)
	for err == nil {
		var n int
		n, err = r.Read(buf)
		samples += n
	}
	fmt.Println(r.Rate(), "Hz,", r.Channels(), "channels,", samples, "samples;", err == io.EOF)
	// Output:
	// 16000 Hz, 1 channels, 9216 samples; true
}
