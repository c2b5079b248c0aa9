package aac_test

import (
	"bytes"
	"errors"
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

func ExampleWriter() {
	var stream bytes.Buffer
	w, err := aac.NewWriter(&stream, 24000, 1, 64000)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(w.Write(make([]float32, 24000)), w.Close()); err != nil { // a second
		log.Fatal(err)
	}
	r, err := aac.NewReader(&stream)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Rate(), "Hz,", r.Channels(), "channels,", r.Profile())
	// Output:
	// 24000 Hz, 1 channels, AAC-LC
}
