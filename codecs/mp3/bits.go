package mp3

import "encoding/binary"

// bits reads bits from the front of buf. Reading past the end gives zeros: the
// callers compare pos with the end they know. The last 8 bytes of buf are never
// reached, so that a read of a whole word stays inside.
type bits struct {
	buf []byte
	pos int // in bits
}

// peek returns the next 57 bits, or more, left-aligned.
func (b *bits) peek() uint64 {
	i := b.pos >> 3
	if uint(i) > uint(len(b.buf)-8) {
		return 0
	}
	return binary.BigEndian.Uint64(b.buf[i:]) << (b.pos & 7)
}

// read returns the next n bits, at most 32.
func (b *bits) read(n uint) uint {
	v := b.peek() >> 1 >> (63 - n)
	b.pos += int(n)
	return uint(v)
}
