// Package opus decodes and encodes Opus packets (RFC 6716). Containers live
// elsewhere: codecs/ogg, codecs/webm and codecs/mp4.
package opus

import (
	"encoding/binary"
	"fmt"

	"quern/codecs/internal/fault"
)

var (
	// ErrFormat is wrapped by every error about a malformed header or packet.
	ErrFormat = fault.Malformed("Opus")

	// ErrUnsupported is wrapped by every error about a valid stream that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("Opus")
)

// Rate is the sampling rate of decoded Opus in Hz, whatever was encoded.
const Rate = 48000

// headMagic opens the identification header in Ogg and WebM.
const headMagic = "OpusHead"

// Head is an identification header: RFC 7845, section 5.1.
type Head struct {
	Channels  int
	PreSkip   int // frames at 48 kHz that a player drops at the start
	InputRate int // Hz of the original, information only
	Gain      int // in 1/256 dB, to be applied by the decoder
	Family    int // channel mapping family
	Streams   int
	Coupled   int
	Mapping   []byte // coded channel of each channel; 255 is silence
}

// ParseHead reads an identification header, with or without its magic
// "OpusHead". MP4's dOps box differs in byte order, and its version is 0.
func ParseHead(b []byte) (Head, error) {
	if len(b) >= len(headMagic) && string(b[:len(headMagic)]) == headMagic {
		b = b[len(headMagic):]
	}
	if len(b) < 11 {
		return Head{}, fmt.Errorf("%w: header of %d bytes", ErrFormat, len(b))
	}
	if b[0] > 15 {
		return Head{}, fmt.Errorf("%w: header version %d", ErrUnsupported, b[0])
	}
	h := Head{
		Channels:  int(b[1]),
		PreSkip:   int(binary.LittleEndian.Uint16(b[2:])),
		InputRate: int(binary.LittleEndian.Uint32(b[4:])),
		Gain:      int(int16(binary.LittleEndian.Uint16(b[8:]))),
		Family:    int(b[10]),
	}
	if h.Channels == 0 {
		return Head{}, fmt.Errorf("%w: no channels", ErrFormat)
	}
	switch h.Family {
	case 0:
		if h.Channels > 2 {
			return Head{}, fmt.Errorf("%w: %d channels in mapping family 0", ErrFormat, h.Channels)
		}
		h.Streams, h.Coupled = 1, h.Channels-1
		h.Mapping = []byte{0, 1}[:h.Channels]
		return h, nil
	case 1, 2, 255:
	default:
		return Head{}, fmt.Errorf("%w: channel mapping family %d", ErrUnsupported, h.Family)
	}
	b = b[11:]
	if len(b) < 2+h.Channels {
		return Head{}, fmt.Errorf("%w: the channel mapping is cut off", ErrFormat)
	}
	h.Streams, h.Coupled = int(b[0]), int(b[1])
	h.Mapping = append([]byte(nil), b[2:2+h.Channels]...)
	if h.Streams == 0 || h.Coupled > h.Streams || h.Streams+h.Coupled > 255 {
		return Head{}, fmt.Errorf("%w: %d streams, %d of them coupled", ErrFormat, h.Streams, h.Coupled)
	}
	for _, m := range h.Mapping {
		if m != 255 && int(m) >= h.Streams+h.Coupled {
			return Head{}, fmt.Errorf("%w: the mapping names channel %d of %d", ErrFormat, m, h.Streams+h.Coupled)
		}
	}
	return h, nil
}

// Append adds the header of a stream of one or two channels to dst, with its
// magic, as the first packet of Ogg Opus wants it.
func (h Head) Append(dst []byte) []byte {
	dst = append(dst, headMagic...)
	dst = append(dst, 1, byte(h.Channels))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(h.PreSkip))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.InputRate))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(h.Gain))
	return append(dst, 0)
}
