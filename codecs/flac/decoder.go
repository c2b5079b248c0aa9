// Package flac decodes and encodes the Free Lossless Audio Codec (RFC 9639).
package flac

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"

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
	block                int   // frames of samples in all blocks but the last, where they are alike; the most otherwise
	frames               int64 // 0 when unknown
}

func parseInfo(b []byte) (info, error) {
	if len(b) < infoSize {
		return info{}, fmt.Errorf("%w: STREAMINFO of %d bytes", ErrFormat, len(b))
	}
	x := binary.BigEndian.Uint64(b[10:])
	s := info{
		block:    int(binary.BigEndian.Uint16(b[2:])),
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
	dst, _, err := d.info.decode(dst, &d.r)
	if err == io.EOF {
		err = fmt.Errorf("%w: empty frame", ErrFormat)
	}
	return dst, err
}

// decode appends the next frame of r to dst. It returns io.EOF when r is at its
// end and io.ErrUnexpectedEOF, wrapped, when the frame is cut off. h is the frame's
// header, as far as it could be read.
func (s info) decode(dst []float32, r io.Reader) (out []float32, h frame.Header, err error) {
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
		return dst, f.Header, err
	}
	h = f.Header
	if f.BitsPerSample == 0 {
		f.BitsPerSample = uint8(s.bits)
	}
	if n := f.Channels.Count(); n != s.channels {
		return dst, h, fmt.Errorf("%w: a frame of %d channels in a stream of %d", ErrFormat, n, s.channels)
	}
	if err := f.Parse(); err != nil {
		return dst, h, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	scale := 1 / float32(int64(1)<<(f.BitsPerSample-1))
	n := len(dst)
	dst = append(dst, make([]float32, int(f.BlockSize)*s.channels)...)
	for c, sub := range f.Subframes {
		for i, v := range sub.Samples {
			dst[n+i*s.channels+c] = float32(v) * scale
		}
	}
	return dst, h, nil
}

// at is the number of the first sample of a frame. Frames are numbered where all blocks
// but the last, which may be shorter, are of one size: RFC 9639, section 9.1.5.
func (s info) at(h frame.Header) int64 {
	if !h.HasFixedBlockSize {
		return int64(h.Num)
	}
	return int64(h.Num) * int64(cmp.Or(s.block, int(h.BlockSize)))
}
