package mp4_test

import (
	"fmt"
	"log"
	"os"

	"quern/codecs/mp4"
)

func ExampleReader() {
	f, err := os.Open("testdata/alac.m4a")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	r, err := mp4.NewReader(f, info.Size())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Codec(), r.Rate(), "Hz,", r.Channels(), "channels,", r.Duration())
	// Output:
	// ALAC 48000 Hz, 1 channels, 200ms
}
