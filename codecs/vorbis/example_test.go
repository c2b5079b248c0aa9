package vorbis_test

import (
	"bytes"
	"fmt"
	"log"
	"os"

	"quern/codecs/vorbis"
)

// Packets come from a container, as quern/codecs/ogg reads it; here they lie in a file.
func ExampleDecoder() {
	b, err := os.ReadFile("testdata/headers.bin")
	if err != nil {
		log.Fatal(err)
	}
	ident, setup, packet := b[:30], b[bytes.Index(b, []byte("\x05vorbis")):len(b)-64], b[len(b)-64:]
	d, err := vorbis.NewDecoder(ident, setup)
	if err != nil {
		log.Fatal(err)
	}
	first, err := d.Decode(nil, packet) // overlaps with the next
	if err != nil {
		log.Fatal(err)
	}
	second, err := d.Decode(nil, packet)
	fmt.Println(d.Rate(), d.Channels(), len(first), len(second), err)
	// Output:
	// 16000 1 0 512 <nil>
}
