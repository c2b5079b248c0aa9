package opus

import (
	"fmt"

	"github.com/thesyncim/gopus"

	"quern/codecs/internal/layout"
)

const (
	maxPacketFrames = 5760      // 120 ms at 48 kHz, the longest packet there is
	maxPacketBytes  = 48 * 1277 // 48 frames of 1275 bytes and their lengths
	maxChannels     = 8         // decoded channels; a stream more costs 20 KB or so
)

// packetDecoder is what gopus's decoders for one stream and for several share.
type packetDecoder interface {
	Decode(packet []byte, pcm []float32) (int, error)
	SetGain(gainQ8 int) error
	Reset()
}

// A Decoder turns packets into samples. It is not safe for concurrent use.
//
// SNR against opusdec (libopus 1.3.1) and median speed over 79 streams: SILK,
// hybrid and CELT, 6 to 128 kbit/s, frames of 2.5 to 60 ms, mono and stereo, some
// with FEC or DTX. One more, opus_fec_st.ogg, libopus 1.3.1 decodes unlike later
// versions, with which gopus agrees within 115 dB.
//
//	gopus 0.1.1     135 to 158 dB, or exact   780 × real time
//	go-opus 0.1.2   70 to 79 dB, or exact     440 ×, 16 bits only
//	pion 0.1.0      44 to 122 dB              400 ×
type Decoder struct {
	head Head
	dec  packetDecoder
	buf  []float32
}

// NewDecoder returns a decoder for the stream that head, an identification
// header with or without its magic, describes.
func NewDecoder(head []byte) (*Decoder, error) {
	h, err := ParseHead(head)
	if err != nil {
		return nil, err
	}
	if h.Channels > maxChannels || h.Streams > maxChannels {
		return nil, fmt.Errorf("%w: %d channels in %d streams", ErrUnsupported, h.Channels, h.Streams)
	}
	d := &Decoder{head: h, buf: make([]float32, maxPacketFrames*h.Channels)}
	if h.Family == 0 {
		d.dec, err = gopus.NewDecoder(gopus.DecoderConfig{
			SampleRate:       Rate,
			Channels:         h.Channels,
			MaxPacketSamples: maxPacketFrames,
			MaxPacketBytes:   maxPacketBytes,
		})
	} else {
		mapping := h.Mapping
		if order := layout.FromVorbis[h.Channels]; h.Family == 1 && order != nil {
			mapping = make([]byte, h.Channels)
			for i, from := range order {
				mapping[i] = h.Mapping[from]
			}
		}
		d.dec, err = gopus.NewMultistreamDecoder(Rate, h.Channels, h.Streams, h.Coupled, mapping)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err := d.dec.SetGain(h.Gain); err != nil {
		return nil, fmt.Errorf("%w: gain: %w", ErrFormat, err)
	}
	return d, nil
}

// Rate returns 48000.
func (d *Decoder) Rate() int { return Rate }

// Channels returns the number of channels; more than two come in WAVE order.
func (d *Decoder) Channels() int { return d.head.Channels }

// PreSkip returns how many frames the caller is to drop from the start of the
// stream; Decode returns them.
func (d *Decoder) PreSkip() int { return d.head.PreSkip }

// Reset forgets what was decoded, as before the first packet.
func (d *Decoder) Reset() { d.dec.Reset() }

// Decode appends the samples of one packet, interleaved, to dst. After an error
// the next packet can still be decoded.
func (d *Decoder) Decode(dst []float32, packet []byte) (out []float32, err error) {
	if len(packet) == 0 || len(packet) > maxPacketBytes*d.head.Streams {
		return dst, fmt.Errorf("%w: packet of %d bytes", ErrFormat, len(packet))
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = dst, fmt.Errorf("%w: decoder: %v", ErrFormat, r)
			d.dec.Reset()
		}
	}()
	n, err := d.dec.Decode(packet, d.buf)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return append(dst, d.buf[:n*d.head.Channels]...), nil
}
