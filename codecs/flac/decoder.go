// Package flac decodes and encodes the Free Lossless Audio Codec (RFC 9639).
package flac

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"quern/codecs/internal/fault"

	"github.com/mewkiz/flac/frame"
)

var (
	// ErrFormat is wrapped by every error about malformed data.
	ErrFormat = fault.Malformed("FLAC")

	// ErrUnsupported is wrapped by every error about a valid stream that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("FLAC")
)

const (
	magic         = "fLaC"
	infoSize      = 34 // bytes of a STREAMINFO block
	lastBlockFlag = 0x80
)

// info is a STREAMINFO block: RFC 9639, section 8.2.
type info struct {
	rate, channels, bits int
	frames               int64 // 0 when unknown
}

func parseInfo(b []byte) (info, error) {
	if len(b) < infoSize {
		return info{}, fmt.Errorf("%w: STREAMINFO of %d bytes", ErrFormat, len(b))
	}
	x := binary.BigEndian.Uint64(b[10:])
	s := info{
		rate:     int(x >> 44),
		channels: int(x>>41&7) + 1,
		bits:     int(x>>36&31) + 1,
		frames:   int64(x & (1<<36 - 1)),
	}
	if s.rate == 0 || s.bits < 4 {
		return info{}, fmt.Errorf("%w: %d Hz, %d bits a sample", ErrFormat, s.rate, s.bits)
	}
	return s, nil
}

// A Decoder turns FLAC frames, as containers hold them, into samples.
type Decoder struct {
	info info
	r    bytes.Reader
}

// NewDecoder returns a decoder for a stream whose STREAMINFO block has the 34
// bytes given, without the header of the block.
func NewDecoder(streamInfo []byte) (*Decoder, error) {
	s, err := parseInfo(streamInfo)
	if err != nil {
		return nil, err
	}
	return &Decoder{info: s}, nil
}

// Rate returns the sampling rate in Hz.
func (d *Decoder) Rate() int { return d.info.rate }

// Channels returns the number of channels, which come in WAVE order.
func (d *Decoder) Channels() int { return d.info.channels }

// Decode appends the samples of one frame, interleaved, to dst.
func (d *Decoder) Decode(dst []float32, packet []byte) ([]float32, error) {
	d.r.Reset(packet)
	dst, err := d.info.decode(dst, &d.r)
	if err == io.EOF {
		err = fmt.Errorf("%w: empty frame", ErrFormat)
	}
	return dst, err
}

// decode appends the next frame of r to dst. It returns io.EOF when r is at its
// end and io.ErrUnexpectedEOF, wrapped, when the frame is cut off.
func (s info) decode(dst []float32, r io.Reader) (out []float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("%w: decoder: %v", ErrFormat, p)
		}
	}()
	f, err := frame.New(r)
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return dst, err
	}
	if f.BitsPerSample == 0 {
		f.BitsPerSample = uint8(s.bits)
	}
	if n := f.Channels.Count(); n != s.channels {
		return dst, fmt.Errorf("%w: a frame of %d channels in a stream of %d", ErrFormat, n, s.channels)
	}
	if err := f.Parse(); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	scale := 1 / float32(int64(1)<<(f.BitsPerSample-1))
	n := len(dst)
	dst = append(dst, make([]float32, int(f.BlockSize)*s.channels)...)
	for c, sub := range f.Subframes {
		for i, v := range sub.Samples {
			dst[n+i*s.channels+c] = float32(v) * scale
		}
	}
	return dst, nil
}

// A Reader decodes a native FLAC stream.
type Reader struct {
	info info
	r    *bufio.Reader
	buf  []float32 // decoded, not yet read
	next int
	read int64 // frames returned
	err  error // what ended the stream
	cut  bool  // the last frame was incomplete
}

// NewReader reads the metadata of r up to the first frame.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{r: bufio.NewReader(r)}
	head := make([]byte, 4+4+infoSize)
	if _, err := io.ReadFull(d.r, head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, fault.NoEOF(err))
	}
	if string(head[:4]) != magic || head[4]&^lastBlockFlag != 0 || head[5] != 0 || head[6] != 0 || head[7] != infoSize {
		return nil, fmt.Errorf("%w: no STREAMINFO at the start", ErrFormat)
	}
	var err error
	if d.info, err = parseInfo(head[8:]); err != nil {
		return nil, err
	}
	for last := head[4]&lastBlockFlag != 0; !last; {
		var h [4]byte
		if _, err := io.ReadFull(d.r, h[:]); err != nil {
			return nil, fmt.Errorf("%w: metadata: %w", ErrFormat, fault.NoEOF(err))
		}
		size := int(h[1])<<16 | int(h[2])<<8 | int(h[3])
		if _, err := d.r.Discard(size); err != nil {
			return nil, fmt.Errorf("%w: metadata: %w", ErrFormat, fault.NoEOF(err))
		}
		last = h[0]&lastBlockFlag != 0
	}
	return d, nil
}

// Rate returns the sampling rate in Hz.
func (d *Reader) Rate() int { return d.info.rate }

// Channels returns the number of channels, which come in WAVE order.
func (d *Reader) Channels() int { return d.info.channels }

// Duration returns the length that the header claims, 0 when it does not.
func (d *Reader) Duration() time.Duration {
	return time.Duration(min(float64(d.info.frames)/float64(d.info.rate), 1e9) * float64(time.Second)) // a header can claim 2000 years
}

// Read fills dst with whole frames, interleaved. A frame that is cut off ends
// the stream as if it were not there; bytes that are no frame, behind as many
// frames as the header claims, do so too.
func (d *Reader) Read(dst []float32) (int, error) {
	dst = dst[:len(dst)/d.info.channels*d.info.channels]
	for d.next == len(d.buf) {
		if d.err != nil {
			return 0, d.err
		}
		d.next = 0
		if d.buf, d.err = d.info.decode(d.buf[:0], d.r); d.err != nil {
			d.buf = d.buf[:0]
			d.cut = errors.Is(d.err, io.ErrUnexpectedEOF) && (d.info.frames <= 0 || d.read < d.info.frames)
			if errors.Is(d.err, io.ErrUnexpectedEOF) || d.info.frames > 0 && d.read >= d.info.frames {
				d.err = io.EOF
			}
			return 0, d.err
		}
		d.read += int64(len(d.buf) / d.info.channels)
	}
	n := copy(dst, d.buf[d.next:])
	d.next += n
	return n, nil
}

// Cut reports, when Read has come to the end, that the last frame was incomplete.
func (d *Reader) Cut() bool { return d.cut }
