package mp3_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"quern/codecs/mp3"
)

func ExampleReader() {
	f, err := os.Open("testdata/joint44.mp3")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := mp3.NewReader(f)
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
	// 44100 Hz, 2 channels, 10584 samples; true
}
