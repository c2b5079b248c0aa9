package wav

import (
	"encoding/binary"
	"fmt"

	"quern/codecs/pcm"
)

// format is what a fmt chunk says.
type format struct {
	rate, channels int
	blockAlign     int        // bytes of a frame, or of a block of ADPCM
	sample         pcm.Format // when samples are stored one by one
	order          binary.ByteOrder
	blocks         blockDecoder // otherwise
}

// Tags of a fmt chunk: Microsoft's mmreg.h.
const (
	tagPCM        = 0x0001
	tagMSADPCM    = 0x0002
	tagFloat      = 0x0003
	tagALaw       = 0x0006
	tagMuLaw      = 0x0007
	tagIMAADPCM   = 0x0011
	tagExtensible = 0xfffe
)

// tagNames lists what is refused by name.
var tagNames = map[uint16]string{
	0x0010: "OKI ADPCM",
	0x0014: "G.723 ADPCM",
	0x0022: "TrueSpeech",
	0x0031: "GSM 6.10",
	0x0045: "G.726 ADPCM",
	0x0050: "MPEG",
	0x0055: "MP3",
	0x0092: "AC-3",
	0x00ff: "AAC",
	0x0160: "WMA 1",
	0x0161: "WMA 2",
	0x0162: "WMA Pro",
	0x0163: "WMA Lossless",
	0x1610: "AAC",
	0x2000: "AC-3",
	0x2001: "DTS",
	0x674f: "Vorbis",
	0xa109: "Speex",
	0xf1ac: "FLAC",
}

// guidTail is what the GUIDs of WAVE_FORMAT_EXTENSIBLE have after the tag.
const guidTail = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

const (
	maxRate     = 1 << 20
	maxChannels = 255
)

func parseFormat(b []byte, order binary.ByteOrder) (format, error) {
	if len(b) < 14 {
		return format{}, fmt.Errorf("%w: fmt chunk of %d bytes", ErrFormat, len(b))
	}
	tag := order.Uint16(b)
	f := format{
		channels:   int(order.Uint16(b[2:])),
		rate:       int(order.Uint32(b[4:])),
		blockAlign: int(order.Uint16(b[12:])),
		order:      order,
	}
	if f.rate == 0 || f.rate > maxRate || f.channels == 0 || f.channels > maxChannels || f.blockAlign == 0 {
		return format{}, fmt.Errorf("%w: %d Hz, %d channels, %d bytes a frame", ErrFormat, f.rate, f.channels, f.blockAlign)
	}
	if tag == tagExtensible {
		if len(b) < 40 || string(b[26:40]) != guidTail {
			return format{}, fmt.Errorf("%w: extensible format without a known GUID", ErrUnsupported)
		}
		tag = order.Uint16(b[24:])
	}
	// Samples fill whole bytes from the top, whatever the number of bits says.
	size := f.blockAlign / f.channels
	whole := size*f.channels == f.blockAlign
	var ok bool
	switch tag {
	case tagPCM:
		f.sample = map[int]pcm.Format{1: pcm.U8, 2: pcm.S16, 3: pcm.S24, 4: pcm.S32}[size]
		ok = whole && f.sample != pcm.None
	case tagFloat:
		f.sample = map[int]pcm.Format{4: pcm.F32, 8: pcm.F64}[size]
		ok = whole && f.sample != pcm.None
	case tagALaw:
		f.sample, ok = pcm.ALaw, whole && size == 1
	case tagMuLaw:
		f.sample, ok = pcm.MuLaw, whole && size == 1
	case tagIMAADPCM:
		f.blocks, ok = ima{f.channels}, f.blockAlign > 4*f.channels && f.channels <= 8
	case tagMSADPCM:
		ms, err := newMS(b, order)
		if err != nil {
			return format{}, err
		}
		f.blocks, ok = ms, f.blockAlign >= 7*f.channels && f.channels <= 2
	default:
		if name := tagNames[tag]; name != "" {
			return format{}, fmt.Errorf("%w: %s audio", ErrUnsupported, name)
		}
		return format{}, fmt.Errorf("%w: format tag %#04x", ErrUnsupported, tag)
	}
	if !ok {
		return format{}, fmt.Errorf("%w: format tag %#04x with %d channels in %d bytes", ErrFormat, tag, f.channels, f.blockAlign)
	}
	return f, nil
}
