package codecs_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"quern/codecs"
)

// Any audio file becomes samples of one channel, at the rate a recogniser wants.
func Example() {
	f, err := os.Open("testdata/short.m4a")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	s, err := codecs.Open(f, codecs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Format(), s.Rate(), "Hz,", s.Channels(), "channels")
	mono, err := codecs.NewMono(s, 16000)
	if err != nil {
		log.Fatal(err)
	}
	samples, buf := 0, make([]float32, 4096)
	for {
		n, err := mono.Read(buf)
		samples += n
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(samples, "samples")
	// Output:
	// mp4/aac-lc 16000 Hz, 1 channels
	// 3200 samples
}
