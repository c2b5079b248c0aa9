package flac

import (
	"bufio"
	"bytes"
	"fmt"
)

// maxFrame bounds the bytes of a frame: STREAMINFO counts them in 24 bits.
const maxFrame = 1 << 24

var errLong = fmt.Errorf("a frame of more than %d bytes", maxFrame)

// A tape is input that can be read again from a frame's start.
type tape struct {
	r     *bufio.Reader
	buf   []byte
	start int   // of the frame, in buf
	next  int   // of buf, to be read
	total int64 // bytes taken from r
	err   error // of r
}

// Read implements io.Reader.
func (t *tape) Read(p []byte) (int, error) {
	if t.next == len(t.buf) {
		if t.next-t.start >= maxFrame {
			return 0, errLong
		}
		if !t.fill() {
			return 0, t.err
		}
	}
	n := copy(p, t.buf[t.next:])
	t.next += n
	return n, nil
}

// fill takes more input, and reports whether there is some.
func (t *tape) fill() bool {
	if t.err == nil {
		_, t.err = t.r.Peek(1)
	}
	if t.err != nil {
		return false
	}
	b, _ := t.r.Peek(t.r.Buffered())
	if len(t.buf)+len(b) > cap(t.buf) && t.start >= len(t.buf)/2 {
		t.buf = t.buf[:copy(t.buf, t.buf[t.start:])]
		t.start, t.next = 0, t.next-t.start
	}
	t.buf = append(t.buf, b...)
	t.total += int64(len(b))
	t.r.Discard(len(b)) // what was peeked is there
	return true
}

// mark has the next frame start here.
func (t *tape) mark() { t.start = t.next }

// frame is the bytes of the frame, as far as they are there, and what follows. They last until
// the next read.
func (t *tape) frame() []byte { return t.buf[t.start:] }

// read is how many bytes of the frame were read.
func (t *tape) read() int { return t.next - t.start }

// again goes to the next place behind the frame's start where one may begin: RFC 9639, section
// 9.1. It returns how many bytes it passed over, and false when the input ends before.
func (t *tape) again() (passed int64, ok bool) {
	for at := t.start + 1; ; {
		i := -1
		if at < len(t.buf) {
			i = bytes.IndexByte(t.buf[at:], 0xff)
		}
		if i < 0 {
			i = max(len(t.buf)-at, 0)
		}
		at += i
		passed += int64(at - t.start)
		t.start, t.next = at, at
		switch {
		case len(t.buf)-at >= 2:
			if t.buf[at+1]&0xfe == 0xf8 {
				return passed, true
			}
			at++
		case !t.fill():
			return passed, false
		default:
			at = t.start
		}
	}
}
