package aac

import "encoding/binary"

// padding is how many zero bytes follow the data of a bits, so that a window
// can be loaded at any position a read may reach before it is checked.
const padding = 16

// bits reads big-endian bit fields. Reading past the end gives zeros and is
// noticed by over, which parsers ask where they can stop.
type bits struct {
	buf []byte // the data and padding zero bytes
	pos int    // in bits
	end int    // in bits
}

// set copies data, keeping the buffer.
func (b *bits) set(data []byte) {
	b.buf = append(b.buf[:0], data...)
	b.buf = append(b.buf, make([]byte, padding)...)
	b.pos, b.end = 0, 8*len(data)
}

// over reports whether more was read than there was.
func (b *bits) over() bool { return b.pos > b.end }

// left is the number of bits not yet read.
func (b *bits) left() int { return max(b.end-b.pos, 0) }

// window returns at least 57 bits from the current position, first bit highest.
func (b *bits) window() uint64 {
	return binary.BigEndian.Uint64(b.buf[b.pos>>3:]) << (b.pos & 7)
}

// read returns the next n bits, n at most 32.
func (b *bits) read(n int) int {
	if b.pos >= b.end {
		b.pos = b.end + 1
		return 0
	}
	// Shifting twice lets n be zero without a shift by 64.
	v := b.window() >> 1 >> (63 - n)
	b.pos += n
	return int(v)
}

func (b *bits) flag() bool { return b.read(1) == 1 }

// skip passes over n bits.
func (b *bits) skip(n int) {
	if n > b.left() {
		b.pos = b.end + 1
		return
	}
	b.pos += n
}

// align passes to the next whole byte.
func (b *bits) align() { b.pos = (b.pos + 7) &^ 7 }
