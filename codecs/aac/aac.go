// Package aac decodes and encodes AAC-LC audio, in units as containers hold them and
// in ADTS streams.
//
// Of HE-AAC (spectral band replication, parametric stereo) the AAC-LC core is
// decoded: half the sampling rate, and one channel where the stereo image is
// parametric. Decoder.Core tells. The other kinds of AAC are refused by name.
//
// ISO/IEC 14496-3, subparts 1 and 4; ISO/IEC 13818-7.
package aac

import (
	"fmt"

	"quern/codecs/internal/fault"
)

var (
	// ErrFormat is wrapped by every error for input that is not AAC.
	ErrFormat = fault.Malformed("AAC")

	// ErrUnsupported is wrapped by every error for input of a kind that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("kind of AAC")

	errShort = fmt.Errorf("%w: unit ends early", ErrFormat)
)

// maxUnit bounds the bytes of a unit: far above the 768 a channel that the
// standard allows.
const maxUnit = 1 << 16

// A Decoder decodes the units of one stream in order. It is not safe for
// concurrent use.
type Decoder struct {
	config
	tables     *tables
	bank       *filterbank
	longBands  []uint16
	shortBands []uint16

	bits     bits
	noise    uint32 // seed
	channels [maxChannels]*channel
	joint    pairing
	sbr      bool // seen in the stream
}

// NewDecoder returns a decoder of the stream that asc, an AudioSpecificConfig,
// describes.
func NewDecoder(asc []byte) (*Decoder, error) {
	c, err := parseConfig(asc)
	if err != nil {
		return nil, err
	}
	return newDecoder(c)
}

func newDecoder(c config) (*Decoder, error) {
	if len(c.elements) == 0 {
		return nil, fmt.Errorf("%w: channels not described", ErrUnsupported)
	}
	d := &Decoder{
		config:     c,
		tables:     shared(),
		bank:       newFilterbank(c.frame),
		longBands:  cut(bandsAtRate[c.rateIndex].long, c.frame),
		shortBands: cut(bandsAtRate[c.rateIndex].short, c.frame/8),
	}
	for i := range c.count {
		d.channels[i] = &channel{tail: tail{x: make([]float32, c.frame/2)}}
	}
	return d, nil
}

// cut returns offsets up to end.
func cut(offsets []uint16, end int) []uint16 {
	for i, o := range offsets {
		if int(o) >= end {
			return append(offsets[:i:i], uint16(end))
		}
	}
	return offsets
}

// Rate is the sampling rate in Hz of what Decode returns.
func (d *Decoder) Rate() int { return d.rate }

// Channels is the number of channels of what Decode returns. They are in the
// order of WAVE files: front left and right, front centre, low frequencies,
// back left and right, front left and right of centre, back centre, side left
// and right.
func (d *Decoder) Channels() int { return d.count }

// Frames is how many frames (samples of every channel) a unit holds.
func (d *Decoder) Frames() int { return d.frame }

// Core reports whether the stream is known to be HE-AAC, of which only the core
// is decoded. A stream need not say so before its first units.
func (d *Decoder) Core() bool { return d.extension != noExtension || d.sbr }

// Profile names the kind of stream: "AAC-LC", "HE-AAC" or "HE-AAC v2", the
// latter only if the configuration says it.
func (d *Decoder) Profile() string {
	switch {
	case d.extension == psExtension:
		return "HE-AAC v2"
	case d.Core():
		return "HE-AAC"
	}
	return "AAC-LC"
}

// Decode decodes one unit (raw_data_block) and appends its Frames frames,
// nominally within [-1, 1], to dst. If the unit cannot be decoded, dst is
// returned as it was and the decoder can go on with the next unit.
func (d *Decoder) Decode(dst []float32, unit []byte) ([]float32, error) {
	if len(unit) > maxUnit {
		return dst, fmt.Errorf("%w: unit of %d bytes", ErrFormat, len(unit))
	}
	d.bits.set(unit)
	return d.decodeBlock(dst)
}

// decodeBlock decodes a raw_data_block from where d.bits stands to its end.
func (d *Decoder) decodeBlock(dst []float32) ([]float32, error) {
	if err := d.readBlock(); err != nil {
		return dst, err
	}
	n := len(dst)
	size := d.frame * d.count
	if cap(dst)-n < size {
		dst = append(dst, make([]float32, size)...)
	} else {
		dst = dst[:n+size]
	}
	for i := range d.count {
		c := d.channels[i]
		d.bank.run(dst[n+i:], d.count, c.coefs[:d.frame], c.sequence, c.layout.shape, &c.tail)
	}
	return dst, nil
}
