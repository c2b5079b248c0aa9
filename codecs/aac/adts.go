package aac

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"quern/codecs/internal/tag"
)

const (
	headerSize = 7
	maxLength  = 1<<13 - 1 // bytes of a frame with its header
	maxJunk    = 1 << 20   // bytes before the first frame
)

// A header is that of an ADTS frame.
//
// ISO/IEC 14496-3, tables 1.A.5 to 1.A.7.
type header struct {
	object    int
	rateIndex int
	channels  int
	length    int // bytes of the frame with this header
	blocks    int
	crc       bool
}

// parseHeader reads the header p begins with.
func parseHeader(p []byte) (header, bool) {
	if len(p) < headerSize || p[0] != 0xff || p[1]&0xf6 != 0xf0 {
		return header{}, false
	}
	h := header{
		object:    int(p[2]>>6) + 1,
		rateIndex: int(p[2] >> 2 & 15),
		channels:  int(p[2]&1)<<2 | int(p[3]>>6),
		length:    int(p[3]&3)<<11 | int(p[4])<<3 | int(p[5]>>5),
		blocks:    int(p[6]&3) + 1,
		crc:       p[1]&1 == 0,
	}
	return h, h.rateIndex < len(rates) && h.length > h.size()
}

// size is the bytes of the header and what comes before the first block.
func (h header) size() int {
	if !h.crc {
		return headerSize
	}
	// A checksum, and where every block but the first begins.
	return headerSize + 2*h.blocks
}

// alike reports whether h and g can be headers of one stream.
func (h header) alike(g header) bool {
	return h.object == g.object && h.rateIndex == g.rateIndex && h.channels == g.channels
}

// config returns what a decoder has to know; block is the first one, which
// describes the channels if the header does not.
func (h header) config(block []byte) (config, error) {
	c := config{rate: rates[h.rateIndex], rateIndex: h.rateIndex, frame: maxFrame}
	if h.object != objectLC {
		return c, fmt.Errorf("%w: %s", ErrUnsupported, objectNames[h.object])
	}
	if h.channels != 0 {
		return c, c.setChannels(h.channels)
	}
	var b bits
	b.set(block)
	if b.read(3) != elementPCE {
		return c, fmt.Errorf("%w: channels not described", ErrUnsupported)
	}
	es, err := readProgram(&b, 0)
	if err != nil {
		return c, err
	}
	return c, c.setElements(es)
}

// A Reader decodes an ADTS stream. It passes over what is not a frame or cannot
// be decoded, as players do.
type Reader struct {
	r     *bufio.Reader
	first header
	dec   *Decoder
	sync  bool      // the last frame ended here
	cut   bool      // frames are missing at the end
	junk  int       // bytes passed over before the first frame
	gap   gap       // since the last frame
	lost  bool      // sound is missing between frames
	pcm   []float32 // of the last frame, nil before the first
	rest  []float32 // of pcm, not yet read
}

// NewReader returns a reader of the stream r, after decoding its first frame.
// An error wraps ErrFormat where there is no frame that can be decoded,
// ErrUnsupported where the stream is of another kind, or is that of r.
func NewReader(r io.Reader) (*Reader, error) {
	s := &Reader{r: bufio.NewReaderSize(r, 2*(maxLength+1))}
	if err := s.start(); err != nil {
		return nil, err
	}
	switch err := s.fill(); {
	case err == nil:
		return s, nil
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: no ADTS frame", ErrFormat)
	default:
		return nil, err
	}
}

// start passes over an ID3 tag and refuses the other stream formats.
func (s *Reader) start() error {
	p, err := s.r.Peek(10)
	if err != nil && err != io.EOF {
		return err
	}
	if len(p) == 10 && string(p[:3]) == "ID3" {
		n := int(p[6]&0x7f)<<21 | int(p[7]&0x7f)<<14 | int(p[8]&0x7f)<<7 | int(p[9]&0x7f)
		if _, err := s.r.Discard(10 + n); err != nil && err != io.EOF {
			return err
		}
		if p, err = s.r.Peek(4); err != nil && err != io.EOF {
			return err
		}
	}
	switch {
	case bytes.HasPrefix(p, []byte("ADIF")):
		return fmt.Errorf("%w: ADIF", ErrUnsupported)
	case len(p) >= 2 && p[0] == 0x56 && p[1]&0xe0 == 0xe0:
		return fmt.Errorf("%w: LATM/LOAS", ErrUnsupported)
	}
	return nil
}

// Rate is the sampling rate in Hz.
func (s *Reader) Rate() int { return s.dec.Rate() }

// Channels is the number of channels, in the order Decoder.Channels gives.
func (s *Reader) Channels() int { return s.dec.Channels() }

// Core reports whether the stream is known to be HE-AAC, of which only the core
// is decoded.
func (s *Reader) Core() bool { return s.dec.Core() }

// Profile names the kind of stream, as Decoder.Profile does.
func (s *Reader) Profile() string { return s.dec.Profile() }

// Read decodes into dst, which holds a frame at least, and returns how many
// values it set: whole frames of one value for each channel, nominally within
// [-1, 1]. At the end it returns 0 and io.EOF.
func (s *Reader) Read(dst []float32) (int, error) {
	ch := s.Channels()
	if len(dst) < ch {
		panic(fmt.Sprintf("aac: Read of %d channels into %d values", ch, len(dst)))
	}
	for len(s.rest) == 0 {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(dst[:len(dst)-len(dst)%ch], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// fill decodes the next frame that can be.
func (s *Reader) fill() error {
	for {
		h, frame, err := s.next()
		if err != nil {
			return err
		}
		switch {
		case s.pcm == nil:
			// Until a frame has been decoded, each could be the first.
			if err = s.open(h, frame); err == nil {
				err = s.decode(h, frame)
			}
			if errors.Is(err, ErrUnsupported) {
				return err
			}
		case h.alike(s.first):
			err = s.decode(h, frame)
		case s.again(h):
			return fmt.Errorf("%w: rate or channels change within the stream", ErrUnsupported)
		default:
			err = ErrFormat // a damaged header
		}
		if err == nil {
			s.lost = s.lost || s.gap.bytes > 0 && !s.gap.tag
			s.sync, s.gap = true, gap{}
			_, err = s.r.Discard(h.length)
			return err
		}
		if err := s.skip(1); err != nil {
			return err
		}
	}
}

// skip passes over n bytes that belong to no frame.
func (s *Reader) skip(n int) error {
	s.sync = false
	if s.pcm == nil {
		if s.junk += n; s.junk > maxJunk {
			return fmt.Errorf("%w: no ADTS frame in %d bytes", ErrFormat, maxJunk)
		}
	}
	p, err := s.r.Peek(n)
	if err != nil {
		return err
	}
	if s.pcm != nil {
		s.gap.add(p)
	}
	_, err = s.r.Discard(n)
	return err
}

// A gap is bytes behind a frame that belong to none.
type gap struct {
	bytes int
	tag   bool // they begin with a tag
	noise bool // some are not zero
}

func (g *gap) add(p []byte) {
	g.tag = g.tag || g.bytes == 0 && tag.Begins(p)
	g.noise = g.noise || len(bytes.TrimLeft(p, "\x00")) > 0
	g.bytes += len(p)
}

// sound reports whether the gap was sound, if no frame comes behind it: files are padded.
func (g gap) sound() bool { return !g.tag && (g.noise || g.bytes > maxLength) }

// open sets up the decoder.
func (s *Reader) open(h header, frame []byte) error {
	c, err := h.config(frame[h.size():])
	if err != nil {
		return err
	}
	d, err := newDecoder(c)
	if err != nil {
		return err
	}
	s.dec, s.first = d, h
	return nil
}

// Cut reports, when Read has come to the end, that frames are missing there.
func (s *Reader) Cut() bool { return s.cut }

// Lost tells whether sound between frames is missing. Nothing tells how much: no silence stands for it.
func (s *Reader) Lost() (frames int64, some bool) { return 0, s.lost }

// decode decodes the blocks of a frame.
func (s *Reader) decode(h header, frame []byte) error {
	d := s.dec
	d.bits.set(frame[h.size():])
	pcm := s.pcm[:0]
	for range h.blocks {
		var err error
		if pcm, err = d.decodeBlock(pcm); err != nil {
			return err
		}
		if h.crc && h.blocks > 1 {
			d.bits.skip(16)
		}
	}
	s.pcm, s.rest = pcm, pcm
	return nil
}

// next moves to the next frame and returns it, valid until the next move. A
// frame counts if it follows another one, or is followed by one or the end.
func (s *Reader) next() (header, []byte, error) {
	for {
		p, err := s.r.Peek(headerSize)
		if err != nil {
			s.cut = s.cut || s.gap.sound()
			return header{}, nil, err
		}
		if h, ok := parseHeader(p); ok {
			p, err = s.r.Peek(h.length + headerSize)
			if err != nil && err != io.EOF {
				return header{}, nil, err
			}
			s.cut = s.cut || s.sync && len(p) < h.length
			if len(p) >= h.length && (s.sync && h.alike(s.first) || follows(h, p[h.length:])) {
				return h, p[:h.length], nil
			}
		}
		if p, err = s.r.Peek(s.r.Buffered()); err != nil {
			return header{}, nil, err
		}
		n := len(p)
		if i := bytes.IndexByte(p[1:], 0xff); i >= 0 {
			n = 1 + i
		}
		if err := s.skip(n); err != nil {
			return header{}, nil, err
		}
	}
}

// follows reports whether rest, what comes after a frame with header h, is the
// end or another frame of the stream.
func follows(h header, rest []byte) bool {
	if len(rest) < headerSize {
		return len(rest) == 0 || rest[0] == 0xff || tag.Begins(rest)
	}
	g, ok := parseHeader(rest)
	return ok && g.alike(h) || tag.Begins(rest)
}

// again reports whether the frame with header h, which comes next, is followed by one like it.
func (s *Reader) again(h header) bool {
	p, err := s.r.Peek(h.length + headerSize)
	if err != nil {
		return false
	}
	g, ok := parseHeader(p[h.length:])
	return ok && g.alike(h)
}
