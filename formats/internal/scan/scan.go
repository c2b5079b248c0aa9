// Package scan reads little-endian binary data from a byte slice without ever
// looking past its end.
package scan

import (
	"encoding/binary"
	"math"
)

// A Cursor walks over a byte slice. The first read that needs more bytes than
// are left fails and so do all after it: they return zero values and do not
// move. A loop over a count from the data must check OK or bound the count by
// Left first.
type Cursor struct {
	data []byte
	off  int
	bad  bool
}

// New returns a cursor at the start of data, which it does not copy.
func New(data []byte) *Cursor { return &Cursor{data: data} }

// OK reports whether every read so far had the bytes it needed.
func (c *Cursor) OK() bool { return !c.bad }

// Offset returns the position of the next read; after a failed read, the
// position of that one.
func (c *Cursor) Offset() int { return c.off }

// Left returns the number of bytes not read yet, 0 after a failed read.
func (c *Cursor) Left() int {
	if c.bad {
		return 0
	}
	return len(c.data) - c.off
}

// Fits reports whether count items of at least size bytes each can be left.
// size is positive.
func (c *Cursor) Fits(count uint64, size int) bool {
	return count <= uint64(c.Left()/size)
}

// Bytes returns the next n bytes without copying them, their capacity clipped.
func (c *Cursor) Bytes(n uint64) []byte {
	// n comes from the data: compare without adding, so nothing can wrap.
	if c.bad || n > uint64(len(c.data)-c.off) {
		c.bad = true
		return nil
	}
	start := c.off
	c.off += int(n)
	return c.data[start:c.off:c.off]
}

// Uint8 reads one byte.
func (c *Cursor) Uint8() uint8 {
	if b := c.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads two bytes.
func (c *Cursor) Uint16() uint16 {
	if b := c.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// Uint32 reads four bytes.
func (c *Cursor) Uint32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes.
func (c *Cursor) Uint64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Float32 reads four bytes.
func (c *Cursor) Float32() float32 { return math.Float32frombits(c.Uint32()) }

// Float64 reads eight bytes.
func (c *Cursor) Float64() float64 { return math.Float64frombits(c.Uint64()) }
