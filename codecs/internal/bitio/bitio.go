// Package bitio writes bits, the most significant of a byte first, as the encoders
// of MP3, AAC and FLAC do.
package bitio

// A Writer appends bits to Buf. The last ones are in Buf only after Align.
type Writer struct {
	Buf []byte
	acc uint64 // the last n bits are waiting
	n   int
}

// Write appends the low n bits of v, n at most 32.
func (w *Writer) Write(v uint64, n int) {
	w.acc = w.acc<<n | v&(1<<n-1)
	w.n += n
	for w.n >= 8 {
		w.n -= 8
		w.Buf = append(w.Buf, byte(w.acc>>w.n))
	}
}

// Flag appends one bit.
func (w *Writer) Flag(v bool) {
	if v {
		w.Write(1, 1)
	} else {
		w.Write(0, 1)
	}
}

// Align fills the last byte with zeros.
func (w *Writer) Align() {
	if w.n > 0 {
		w.Write(0, 8-w.n)
	}
}

// Len is the number of bits written.
func (w *Writer) Len() int { return 8*len(w.Buf) + w.n }

// Reset begins anew and keeps the buffer.
func (w *Writer) Reset() { w.Buf, w.acc, w.n = w.Buf[:0], 0, 0 }
