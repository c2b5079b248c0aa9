package mp4

import (
	"encoding/binary"
	"fmt"

	alac "github.com/mycophonic/saprobe-alac"

	"quern/codecs/pcm"
)

const maxALACFrame = 1 << 14 // frames of a packet; encoders use 4096

// An apple decodes ALAC packets.
type apple struct {
	d      *alac.PacketDecoder
	format alac.PCMFormat
	sample pcm.Format
}

// alacSamples are how the decoder returns samples of so many bits.
var alacSamples = map[uint8]pcm.Format{16: pcm.S16, 20: pcm.S24, 24: pcm.S24, 32: pcm.S32}

// newALAC returns the decoder of a description with an alac box. What the
// decoder allocates by, and what it takes for granted, is checked first.
func newALAC(e *entry) (decoder, error) {
	cookie := e.boxes["alac"]
	if len(cookie) < 4+24 {
		return nil, fmt.Errorf("%w: ALAC cookie of %d bytes", ErrFormat, len(cookie))
	}
	c, err := alac.ParseMagicCookie(cookie[4:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	sample, ok := alacSamples[c.BitDepth]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: ALAC of %d bits", ErrUnsupported, c.BitDepth)
	case c.NumChannels < 1 || c.NumChannels > maxChannels:
		return nil, fmt.Errorf("%w: ALAC of %d channels", ErrUnsupported, c.NumChannels)
	case c.FrameLength < 1 || c.FrameLength > maxALACFrame:
		return nil, fmt.Errorf("%w: ALAC packets of %d frames", ErrFormat, c.FrameLength)
	case c.SampleRate < 1 || c.SampleRate > maxRate:
		return nil, fmt.Errorf("%w: ALAC at %d Hz", ErrUnsupported, c.SampleRate)
	}
	d, err := alac.NewPacketDecoder(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return &apple{d, d.Format(), sample}, nil
}

func (a *apple) Rate() int     { return a.format.SampleRate }
func (a *apple) Channels() int { return a.format.Channels }

func (a *apple) Decode(dst []float32, packet []byte) (out []float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("%w: ALAC decoder: %v", ErrFormat, p)
		}
	}()
	p, err := a.d.DecodePacket(packet)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return pcm.Decode(dst, p, a.sample, binary.LittleEndian), nil
}
