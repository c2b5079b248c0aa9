package mp4_test

import (
	"bytes"
	"errors"
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

func ExampleWriter() {
	var file bytes.Buffer
	w, err := mp4.NewWriter(&file, 24000, 1, 64000, false)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(w.Write(make([]float32, 36000)), w.Close()); err != nil {
		log.Fatal(err)
	}
	r, err := mp4.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Codec(), r.Rate(), "Hz,", r.Channels(), "channels,", r.Duration())
	// Output:
	// AAC-LC 24000 Hz, 1 channels, 1.5s
}
