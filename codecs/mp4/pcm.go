package mp4

import (
	"encoding/binary"
	"fmt"

	"quern/codecs/pcm"
)

// A plain decodes whole frames of one kind of PCM.
type plain struct {
	rate, channels int
	format         pcm.Format
	order          binary.ByteOrder
}

// A coding is what a sound description of PCM does not say.
type coding struct {
	bits                  int
	float, signed, little bool
}

// plainFormats are the formats that codings have.
var plainFormats = map[coding]pcm.Format{
	{bits: 8}:                pcm.U8,
	{bits: 8, signed: true}:  pcm.S8,
	{bits: 16, signed: true}: pcm.S16,
	{bits: 24, signed: true}: pcm.S24,
	{bits: 32, signed: true}: pcm.S32,
	{bits: 32, float: true}:  pcm.F32,
	{bits: 64, float: true}:  pcm.F64,
}

// Flags of lpcm.
const (
	lpcmFloat  = 1 << 0
	lpcmBig    = 1 << 1
	lpcmSigned = 1 << 2
)

// newPCM returns the decoder of a description that is PCM.
//
// QuickTime File Format, sound media; ISO/IEC 23003-5 for ipcm and fpcm.
func newPCM(e *entry) (*plain, error) {
	c := coding{bits: e.bits, signed: true, little: e.little}
	switch e.kind {
	case "sowt":
		c.little = true
	case "raw ", "NONE":
		// Up to eight bits there is no sign, beyond it is as twos.
		c.signed = c.bits > 8
	case "in24":
		c.bits = 24
	case "in32":
		c.bits = 32
	case "fl32":
		c.bits, c.float = 32, true
	case "fl64":
		c.bits, c.float = 64, true
	case "lpcm":
		c.little, c.float, c.signed = e.flags&lpcmBig == 0, e.flags&lpcmFloat != 0, e.flags&lpcmSigned != 0
	case "ipcm", "fpcm":
		p := e.boxes["pcmC"]
		if len(p) < 6 {
			return nil, fmt.Errorf("%w: %s without pcmC", ErrFormat, e.kind)
		}
		c.little, c.bits, c.float = p[4]&1 != 0, int(p[5]), e.kind == "fpcm"
	}
	if e.channels < 1 || e.channels > maxChannels || e.rate < 1 || e.rate > maxRate {
		return nil, fmt.Errorf("%w: PCM of %d channels at %d Hz", ErrUnsupported, e.channels, e.rate)
	}
	d := &plain{rate: e.rate, channels: e.channels, order: binary.BigEndian}
	if c.little {
		d.order = binary.LittleEndian
	}
	switch e.kind {
	case "ulaw":
		d.format = pcm.MuLaw
	case "alaw":
		d.format = pcm.ALaw
	default:
		if c.float {
			c.signed = false
		}
		c.little = false
		f, ok := plainFormats[c]
		if !ok {
			return nil, fmt.Errorf("%w: PCM of %d bits (%s)", ErrUnsupported, c.bits, e.kind)
		}
		d.format = f
	}
	return d, nil
}

func (d *plain) Rate() int     { return d.rate }
func (d *plain) Channels() int { return d.channels }

// frame is the bytes of a frame.
func (d *plain) frame() int { return d.format.Size() * d.channels }

func (d *plain) Decode(dst []float32, p []byte) ([]float32, error) {
	return pcm.Decode(dst, p[:len(p)-len(p)%d.frame()], d.format, d.order), nil
}
