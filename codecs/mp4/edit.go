package mp4

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
)

const (
	maxEdits = 10000
	maxTag   = 1 << 10 // bytes of an iTunSMPB tag
)

// A span is a part of a track, from a time up to another one, or to its end.
type span struct {
	from, to int64 // to -1: the end
}

// earlier is s, n before where it was.
func (s span) earlier(n int64) span {
	s.from = max(s.from-n, 0)
	if s.to >= 0 {
		s.to = max(s.to-n, 0)
	}
	return s
}

// readEdits reads an edit list.
//
// ISO/IEC 14496-12, 8.6.6.
func (f *file) readEdits(elst box) ([]edit, error) {
	c := f.cursor(elst, 0)
	version, n := c.u32(), c.u32()
	if c.err != nil {
		return nil, noEOF(c.err)
	}
	if n > maxEdits {
		return nil, fmt.Errorf("%w: %d edits", ErrUnsupported, n)
	}
	var edits []edit
	for range n {
		e := readEdit(&c, version>>24 == 1)
		if c.err == io.EOF {
			break
		} else if c.err != nil {
			return nil, c.err
		}
		edits = append(edits, e)
	}
	return edits, nil
}

func readEdit(c *cursor, wide bool) (e edit) {
	if wide {
		e = edit{c.uint(8), int64(c.uint(8))}
	} else {
		e = edit{c.uint(4), int64(int32(c.u32()))}
	}
	c.u32() // speed
	return e
}

// readGapless returns what a tag iTunSMPB says: the samples of encoder delay
// and padding and the length between them, in hexadecimal numbers.
func (f *file) readGapless(moov box) *span {
	meta, ok := f.find(moov, "udta", "meta")
	if !ok {
		return nil
	}
	// ISO's meta has a version before its boxes, QuickTime's has not.
	if p, err := f.content(meta, 8, 8); err != nil {
		return nil
	} else if string(p[4:]) != "hdlr" {
		meta.off += 4
	}
	ilst, ok := f.find(meta, "ilst")
	if !ok {
		return nil
	}
	for w := f.walk(ilst, 0); ; {
		b, err := w.next()
		if err != nil {
			return nil
		}
		if b.kind != "----" || f.text(b, "name", 4) != "iTunSMPB" {
			continue
		}
		fields := strings.Fields(f.text(b, "data", 8))
		if len(fields) < 4 {
			return nil
		}
		delay, err := strconv.ParseUint(fields[1], 16, 32)
		if err != nil {
			return nil
		}
		length, err := strconv.ParseUint(fields[3], 16, 62)
		if err != nil || length == 0 {
			return nil
		}
		return &span{int64(delay), int64(delay + length)}
	}
}

// text returns the text of a box below b, after skip bytes.
func (f *file) text(b box, kind string, skip int64) string {
	c, ok := f.find(b, kind)
	if !ok {
		return ""
	}
	p, err := f.content(c, skip, maxTag)
	if err != nil {
		return ""
	}
	return string(p[skip:])
}

// spans returns what of the track is played, in frames at rate. delay is how
// many frames to drop at the start where the file does not say.
//
// Pauses (edits without media) are left out, as players of sound alone do.
func (m *movie) spans(rate, delay int) ([]span, error) {
	frames := func(t uint64, scale uint32) int64 {
		return mulDiv(t, uint64(rate), uint64(scale))
	}
	var spans []span
	for _, e := range m.track.edits {
		if e.start < 0 {
			continue
		}
		s := span{from: frames(uint64(e.start), m.track.scale), to: -1}
		if e.duration > 0 {
			s.to = s.from + min(frames(e.duration, m.scale), maxFrames)
		}
		if n := len(spans); n > 0 && (spans[n-1].to < 0 || s.from < spans[n-1].to) {
			return nil, fmt.Errorf("%w: edit list that repeats or reorders", ErrUnsupported)
		}
		spans = append(spans, s)
	}
	if m.gapless != nil && (len(spans) == 0 || len(spans) == 1 && spans[0].from == 0) {
		return []span{{frames(uint64(m.gapless.from), m.track.scale), frames(uint64(m.gapless.to), m.track.scale)}}, nil
	}
	switch {
	case len(spans) == 0:
		return []span{{int64(delay), -1}}, nil
	case spans[0].from == 0 && delay > 0:
		spans[0].from = int64(delay)
		if spans[0].to >= 0 {
			spans[0].to += int64(delay)
		}
	}
	return spans, nil
}

// maxFrames bounds times, so that sums of two do not wrap.
const maxFrames = 1 << 60

// mulDiv is a·b/c rounded, and maxFrames at most.
func mulDiv(a, b, c uint64) int64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c/2, 0)
	if hi += carry; hi >= c {
		return maxFrames
	}
	q, _ := bits.Div64(hi, lo, c)
	return int64(min(q, maxFrames))
}
