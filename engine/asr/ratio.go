package asr

import (
	"bytes"
	"compress/zlib"
)

// CompressionRatio is how much smaller zlib makes a text: loops compress well.
// The threshold of 2.4 was found with zlib, whose last block is not empty as
// Go's is; those bytes are taken off.
func CompressionRatio(text string) float64 {
	if text == "" {
		return 0
	}
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(text)) // a Buffer takes all
	w.Close()
	return float64(len(text)) / float64(b.Len()-emptyBlock)
}

// emptyBlock is the end of Go's compressor's output: a stored block of no bytes.
const emptyBlock = 4
