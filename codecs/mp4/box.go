package mp4

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A file is the bytes of an MP4 file, read where they are needed.
type file struct {
	r    io.ReaderAt
	size int64
}

// A box is a part of a file: its kind, where it begins and where its content
// begins and ends.
type box struct {
	kind            string
	start, off, end int64
}

func (b box) size() int64 { return b.end - b.off }

// A walk goes through boxes that follow each other.
type walk struct {
	f        *file
	off, end int64
}

func (f *file) walk(b box, skip int64) walk { return walk{f, min(b.off+skip, b.end), b.end} }

// next returns the next box, or io.EOF. A box that claims to reach beyond the
// end, or gives no size, reaches to the end.
//
// ISO/IEC 14496-12, 4.2.
func (w *walk) next() (box, error) {
	var h [16]byte
	left := w.end - w.off
	if left < 8 {
		return box{}, io.EOF
	}
	n := min(left, int64(len(h)))
	if err := w.f.read(h[:n], w.off); err != nil {
		return box{}, err
	}
	size := uint64(binary.BigEndian.Uint32(h[:]))
	b := box{kind: string(h[4:8]), start: w.off, off: w.off + 8}
	switch {
	case size == 0:
		size = uint64(left)
	case size == 1 && n == 16:
		size = binary.BigEndian.Uint64(h[8:])
		b.off += 8
	}
	if size < uint64(b.off-b.start) {
		return box{}, fmt.Errorf("%w: box %q of %d bytes", ErrFormat, b.kind, size)
	}
	b.end = w.end
	if size < uint64(left) {
		b.end = w.off + int64(size)
	}
	w.off = b.end
	return b, nil
}

// find returns the first box of a kind on a path of kinds below b.
func (f *file) find(b box, path ...string) (box, bool) {
	for _, kind := range path {
		w := f.walk(b, 0)
		for {
			c, err := w.next()
			if err != nil {
				return box{}, false
			}
			if c.kind == kind {
				b = c
				break
			}
		}
	}
	return b, true
}

// read fills p from off.
func (f *file) read(p []byte, off int64) error {
	if int64(len(p)) > f.size-off {
		return io.ErrUnexpectedEOF
	}
	n, err := f.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF || err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// content returns the first bytes of b, limit at most and n at least.
func (f *file) content(b box, n, limit int64) ([]byte, error) {
	if b.size() < n {
		return nil, fmt.Errorf("%w: %q of %d bytes", ErrFormat, b.kind, b.size())
	}
	p := make([]byte, min(b.size(), limit))
	return p, f.read(p, b.off)
}

// A cursor reads big-endian numbers one after the other. Its first error stays: io.EOF where
// what is left is no whole number. Numbers are 0 from then on.
type cursor struct {
	f        *file
	off, end int64
	buf      []byte // of what is before off
	store    *[1024]byte
	err      error
}

func (f *file) cursor(b box, skip int64) cursor {
	return cursor{f: f, off: min(b.off+skip, b.end), end: b.end, store: new([1024]byte)}
}

// fill makes n bytes, n at most 8, lie in buf, or returns io.EOF.
func (c *cursor) fill(n int) error {
	if len(c.buf) >= n {
		return nil
	}
	kept := copy(c.store[:], c.buf)
	more := int(min(int64(len(c.store)-kept), c.end-c.off))
	if kept+more < n {
		return io.EOF
	}
	if err := c.f.read(c.store[kept:][:more], c.off); err != nil {
		return err
	}
	c.off += int64(more)
	c.buf = c.store[:kept+more]
	return nil
}

// uint reads a number of n bytes, n at most 8.
func (c *cursor) uint(n int) (v uint64) {
	if c.err == nil {
		c.err = c.fill(n)
	}
	if c.err != nil {
		return 0
	}
	for _, b := range c.buf[:n] {
		v = v<<8 | uint64(b)
	}
	c.buf = c.buf[n:]
	return v
}

func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }
