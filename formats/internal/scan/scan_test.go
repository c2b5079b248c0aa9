package scan_test

import (
	"math"
	"testing"

	"quern/formats/internal/scan"
)

func TestReads(t *testing.T) {
	c := scan.New([]byte{
		0xfe,
		0x34, 0x12,
		0x78, 0x56, 0x34, 0x12,
		0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
		0x00, 0x00, 0xc0, 0x3f,
		0, 0, 0, 0, 0, 0, 0x04, 0xc0,
		'a', 'b', 'c',
	})
	if got := c.Uint8(); got != 0xfe {
		t.Errorf("Uint8 = %#x, want 0xfe", got)
	}
	if got := c.Uint16(); got != 0x1234 {
		t.Errorf("Uint16 = %#x, want 0x1234", got)
	}
	if got := c.Uint32(); got != 0x12345678 {
		t.Errorf("Uint32 = %#x, want 0x12345678", got)
	}
	if got := c.Uint64(); got != 0x0123456789abcdef {
		t.Errorf("Uint64 = %#x, want 0x0123456789abcdef", got)
	}
	if got := c.Float32(); got != 1.5 {
		t.Errorf("Float32 = %v, want 1.5", got)
	}
	if got := c.Float64(); got != -2.5 {
		t.Errorf("Float64 = %v, want -2.5", got)
	}
	if got := c.Left(); got != 3 {
		t.Errorf("Left = %d, want 3", got)
	}
	b := c.Bytes(2)
	if string(b) != "ab" || cap(b) != 2 {
		t.Errorf("Bytes(2) = %q with capacity %d, want %q with 2", b, cap(b), "ab")
	}
	if c.Offset() != 29 || !c.OK() {
		t.Errorf("Offset, OK = %d, %v; want 29, true", c.Offset(), c.OK())
	}
}

func TestShort(t *testing.T) {
	for _, tt := range []struct {
		name string
		left int
		read func(c *scan.Cursor)
	}{
		{"uint8", 0, func(c *scan.Cursor) { c.Uint8() }},
		{"uint16", 1, func(c *scan.Cursor) { c.Uint16() }},
		{"uint32", 3, func(c *scan.Cursor) { c.Uint32() }},
		{"uint64", 7, func(c *scan.Cursor) { c.Uint64() }},
		{"float32", 3, func(c *scan.Cursor) { c.Float32() }},
		{"float64", 7, func(c *scan.Cursor) { c.Float64() }},
		{"bytes", 4, func(c *scan.Cursor) { c.Bytes(5) }},
		{"huge", 4, func(c *scan.Cursor) { c.Bytes(math.MaxUint64) }},
		{"sign bit", 4, func(c *scan.Cursor) { c.Bytes(1 << 63) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := scan.New(make([]byte, 2+tt.left))
			c.Uint16()
			tt.read(c)
			if c.OK() || c.Left() != 0 || c.Offset() != 2 {
				t.Errorf("OK, Left, Offset = %v, %d, %d; want false, 0, 2", c.OK(), c.Left(), c.Offset())
			}
			if b := c.Bytes(0); b != nil || c.OK() {
				t.Errorf("Bytes(0) after a failed read = %v, OK %v; want nil, false", b, c.OK())
			}
		})
	}
}

func TestFits(t *testing.T) {
	c := scan.New(make([]byte, 20))
	for _, tt := range []struct {
		count uint64
		size  int
		want  bool
	}{
		{0, 8, true}, {2, 8, true}, {3, 8, false}, {20, 1, true}, {21, 1, false},
		{1 << 61, 8, false}, {math.MaxUint64, 1, false},
	} {
		if got := c.Fits(tt.count, tt.size); got != tt.want {
			t.Errorf("Fits(%d, %d) = %v, want %v", tt.count, tt.size, got, tt.want)
		}
	}
}
