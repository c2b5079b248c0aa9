package bitio_test

import (
	"bytes"
	"testing"

	"quern/codecs/internal/bitio"
)

func TestWriter(t *testing.T) {
	var w bitio.Writer
	for range 2 { // the second time in the buffer of the first
		w.Reset()
		w.Write(0xfffffff5, 3) // the low bits alone
		w.Flag(true)
		w.Flag(false)
		w.Write(0, 0)
		w.Write(0x12345678, 32)
		if w.Len() != 37 {
			t.Errorf("%d bits, want 37", w.Len())
		}
		w.Align()
		w.Align()
		// 101 1 0, then 0001 0010 …, then three zeros.
		if want := []byte{0xb0, 0x91, 0xa2, 0xb3, 0xc0}; !bytes.Equal(w.Buf, want) {
			t.Errorf("%x, want %x", w.Buf, want)
		}
	}
}
