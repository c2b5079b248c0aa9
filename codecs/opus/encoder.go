package opus

import (
	"fmt"

	"github.com/thesyncim/gopus"

	"quern/codecs/internal/fault"
	"quern/codecs/pcm"
)

// FrameSize is the number of frames of an encoded packet: 20 ms.
const FrameSize = Rate / 50

// Bounds of the bit rate in bit/s: RFC 6716, section 2.1.1.
const (
	MinBitrate = 6000
	MaxBitrate = 510000
)

// ErrOption is wrapped by the error for what the encoder cannot be set to.
var ErrOption = fault.Unsupported("Opus encoding")

// Application tells the encoder what it will hear.
type Application int

const (
	Audio Application = iota // music and anything else
	VoIP                     // speech
)

// An Encoder turns samples at 48 kHz into packets of variable size. It is not
// safe for concurrent use.
type Encoder struct {
	enc      *gopus.Encoder
	channels int
	frame    []float32 // clipped
	buf      []byte
}

// NewEncoder returns an encoder for one or two channels and a mean bit rate in
// bit/s, 0 for the encoder's own choice.
func NewEncoder(channels, bitrate int, app Application) (*Encoder, error) {
	if channels != 1 && channels != 2 {
		return nil, fmt.Errorf("%w: %d channels", ErrOption, channels)
	}
	if bitrate != 0 && (bitrate < MinBitrate || bitrate > MaxBitrate) {
		return nil, fmt.Errorf("%w: %d bit/s is not between %d and %d", ErrOption, bitrate, MinBitrate, MaxBitrate)
	}
	config := gopus.EncoderConfig{SampleRate: Rate, Channels: channels, Application: gopus.ApplicationAudio}
	if app == VoIP {
		config.Application = gopus.ApplicationVoIP
	}
	enc, err := gopus.NewEncoder(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOption, err)
	}
	if bitrate != 0 {
		if err := enc.SetBitrate(bitrate); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	return &Encoder{enc: enc, channels: channels, buf: make([]byte, maxPacketBytes)}, nil
}

// Lookahead returns by how many frames the decoded stream lags behind: the
// PreSkip of its header.
func (e *Encoder) Lookahead() int { return e.enc.Lookahead() }

// Encode appends the packet for one frame to dst: FrameSize frames, interleaved.
// Samples beyond full scale are clipped; those that are not finite are an error.
func (e *Encoder) Encode(dst []byte, frame []float32) (out []byte, err error) {
	if len(frame) != FrameSize*e.channels {
		panic(fmt.Sprintf("opus: Encode of %d samples, want %d", len(frame), FrameSize*e.channels))
	}
	if err := pcm.Check(frame); err != nil {
		return dst, fmt.Errorf("opus: %w", err)
	}
	e.frame = e.frame[:0]
	for _, v := range frame {
		e.frame = append(e.frame, max(-1, min(1, v)))
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = dst, fmt.Errorf("opus encoder: %v", r)
		}
	}()
	n, err := e.enc.Encode(e.frame, e.buf)
	if err != nil {
		return dst, err
	}
	return append(dst, e.buf[:n]...), nil
}
