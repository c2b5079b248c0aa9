// Package vorbis decodes Vorbis packets. Containers live elsewhere: codecs/ogg
// and codecs/webm.
package vorbis

import (
	"encoding/binary"
	"fmt"

	"github.com/jfreymuth/vorbis"

	"quern/codecs/internal/fault"
	"quern/codecs/internal/layout"
)

var (
	// ErrFormat is wrapped by every error about a malformed header or packet.
	ErrFormat = fault.Malformed("Vorbis")

	// ErrUnsupported is wrapped by every error about a valid stream that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("Vorbis")
)

// maxChannels is the number that Vorbis gives an order to. What a packet costs
// grows with it, however short the packet is.
const maxChannels = 8

// A Decoder turns packets into samples. It is not safe for concurrent use.
type Decoder struct {
	dec   vorbis.Decoder
	buf   []float32
	order []int
}

// NewDecoder returns a decoder for the stream with these identification and
// setup headers; the comments between them are not needed.
func NewDecoder(ident, setup []byte) (d *Decoder, err error) {
	if err := checkIdent(ident); err != nil {
		return nil, err
	}
	if setup, err = checkSetup(setup); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("%w: setup header: %v", ErrFormat, p)
		}
	}()
	d = new(Decoder)
	for _, header := range [][]byte{ident, setup} {
		if err := d.dec.ReadHeader(header); err != nil {
			return nil, fmt.Errorf("%w: header: %w", ErrFormat, err)
		}
	}
	d.buf = make([]float32, d.dec.BufferSize())
	d.order = layout.FromVorbis[d.dec.Channels()]
	return d, nil
}

// Rate returns the sampling rate in Hz.
func (d *Decoder) Rate() int { return d.dec.SampleRate() }

// Channels returns the number of channels; more than two come in WAVE order.
func (d *Decoder) Channels() int { return d.dec.Channels() }

// Decode appends the samples that packet completes, interleaved, to dst: none
// for the first packet, since blocks overlap. After an error the next packet
// can still be decoded, and counts as a first one.
func (d *Decoder) Decode(dst []float32, packet []byte) (out []float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("%w: decoder: %v", ErrFormat, p)
			d.dec.Clear()
		}
	}()
	if len(packet) == 0 {
		return dst, nil // valid: a packet of nothing lasts no time
	}
	x, err := d.dec.DecodeInto(packet, d.buf)
	if err != nil {
		d.dec.Clear()
		return dst, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	n := len(dst)
	dst = append(dst, x...)
	layout.Reorder(dst[n:], d.order)
	return dst, nil
}

// checkIdent bounds what the identification header asks for: Vorbis I,
// section 4.2.2.
func checkIdent(b []byte) error {
	if len(b) < 30 || string(b[:7]) != "\x01vorbis" {
		return fmt.Errorf("%w: no identification header", ErrFormat)
	}
	channels, rate := int(b[11]), binary.LittleEndian.Uint32(b[12:])
	short, long := b[28]&15, b[28]>>4
	if channels == 0 || rate == 0 || rate > 1<<20 || short < 6 || long > 13 || short > long {
		return fmt.Errorf("%w: %d channels, %d Hz, blocks of 2^%d and 2^%d", ErrFormat, channels, rate, short, long)
	}
	if channels > maxChannels {
		return fmt.Errorf("%w: %d channels", ErrUnsupported, channels)
	}
	return nil
}
