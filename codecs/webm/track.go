package webm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"quern/codecs/aac"
	"quern/codecs/flac"
	"quern/codecs/opus"
	"quern/codecs/pcm"
	"quern/codecs/vorbis"
)

// track is a TrackEntry element, as far as audio needs it.
type track struct {
	number    uint64
	kind      uint64
	enabled   bool
	preferred bool // FlagDefault
	codec     string
	private   []byte
	delay     int64 // CodecDelay, ns
	rate      float64
	channels  int
	bits      int
	strip     []byte // what ContentCompression took off each frame
	encoded   bool   // by something that is not supported
}

// packetDecoder turns the frames of a track into samples.
type packetDecoder interface {
	Rate() int
	Channels() int
	Decode(dst []float32, packet []byte) ([]float32, error)
}

func parseTrack(b []byte) (*track, error) {
	t := &track{enabled: true, preferred: true, rate: 8000, channels: 1}
	err := children(b, func(id uint64, b []byte) error {
		switch id {
		case idTrackNumber:
			t.number = unsigned(b)
		case idTrackType:
			t.kind = unsigned(b)
		case idFlagEnabled:
			t.enabled = unsigned(b) != 0
		case idFlagDefault:
			t.preferred = unsigned(b) != 0
		case idCodecID:
			t.codec = string(bytes.TrimRight(b[:min(len(b), 64)], "\x00"))
		case idCodecPrivate:
			t.private = bytes.Clone(b)
		case idCodecDelay:
			t.delay = int64(min(unsigned(b), math.MaxInt64))
		case idAudio:
			return children(b, t.audio)
		case idEncodings:
			return children(b, func(id uint64, b []byte) error {
				if id == idEncoding {
					return t.encoding(b)
				}
				return nil
			})
		}
		return nil
	})
	return t, err
}

func (t *track) audio(id uint64, b []byte) error {
	switch id {
	case idSamplingRate:
		t.rate = float(b)
	case idChannels:
		t.channels = int(min(unsigned(b), 256))
	case idBitDepth:
		t.bits = int(min(unsigned(b), 256))
	}
	return nil
}

// encoding reads a ContentEncoding: only header stripping is supported.
func (t *track) encoding(b []byte) error {
	kind, algo := uint64(encodingCompress), uint64(0)
	err := children(b, func(id uint64, b []byte) error {
		switch id {
		case idEncodingType:
			kind = unsigned(b)
		case idCompression:
			return children(b, func(id uint64, b []byte) error {
				switch id {
				case idCompAlgo:
					algo = unsigned(b)
				case idCompSettings:
					t.strip = bytes.Clone(b)
				}
				return nil
			})
		}
		return nil
	})
	t.encoded = t.encoded || kind != encodingCompress || algo != compressionStrip
	return err
}

// codecs lists Matroska's codec IDs. One without an open function is refused by
// its name.
var codecs = map[string]struct {
	name string
	open func(t *track) (packetDecoder, error)
}{
	"A_OPUS":              {"Opus", openOpus},
	"A_OPUS/EXPERIMENTAL": {"Opus", openOpus},
	"A_VORBIS":            {"Vorbis", openVorbis},
	"A_FLAC":              {"FLAC", openFLAC},
	"A_PCM/INT/LIT":       {"PCM", openPCM},
	"A_PCM/INT/BIG":       {"PCM", openPCM},
	"A_PCM/FLOAT/IEEE":    {"PCM", openPCM},
	"A_AAC":               {"AAC", openAAC},
	"A_MPEG/L1":           {"MPEG audio layer 1", nil},
	"A_MPEG/L2":           {"MPEG audio layer 2", nil},
	"A_MPEG/L3":           {"MP3", openMP3},
	"A_AC3":               {"AC-3", nil},
	"A_EAC3":              {"E-AC-3", nil},
	"A_DTS":               {"DTS", nil},
	"A_TRUEHD":            {"TrueHD", nil},
	"A_ALAC":              {"ALAC", nil},
	"A_TTA1":              {"TTA", nil},
	"A_WAVPACK4":          {"WavPack", nil},
	"A_MS/ACM":            {"ACM", nil},
	"A_REAL/COOK":         {"RealAudio", nil},
}

// open makes the decoder of a track.
func (t *track) open() (packetDecoder, string, error) {
	c, ok := codecs[t.codec]
	switch {
	case !ok:
		return nil, "", fmt.Errorf("%w: codec %q", ErrUnsupported, t.codec)
	case c.open == nil:
		return nil, "", fmt.Errorf("%w: %s audio", ErrUnsupported, c.name)
	case t.encoded:
		return nil, "", fmt.Errorf("%w: encrypted or compressed %s", ErrUnsupported, c.name)
	}
	d, err := c.open(t)
	if err != nil {
		return nil, "", fmt.Errorf("%s track: %w", c.name, err)
	}
	return d, c.name, nil
}

func openOpus(t *track) (packetDecoder, error) { return opus.NewDecoder(t.private) }

// openVorbis takes the three headers apart that CodecPrivate laces: RFC 9559's
// codec specification, A_VORBIS.
func openVorbis(t *track) (packetDecoder, error) {
	const xiph = 1 << 1
	headers, err := unlace(nil, t.private, xiph)
	if err != nil {
		return nil, err
	}
	if len(headers) != 3 {
		return nil, fmt.Errorf("%w: %d Vorbis headers", ErrFormat, len(headers))
	}
	return vorbis.NewDecoder(headers[0], headers[2])
}

func openFLAC(t *track) (packetDecoder, error) {
	const head = 4 + 4 // "fLaC" and the header of the STREAMINFO block
	if len(t.private) < head {
		return nil, fmt.Errorf("%w: FLAC header of %d bytes", ErrFormat, len(t.private))
	}
	return flac.NewDecoder(t.private[head:])
}

func openAAC(t *track) (packetDecoder, error) { return aac.NewDecoder(t.private) }

// openMP3 returns no decoder: mp3.Reader takes a stream, which Reader gives it.
func openMP3(*track) (packetDecoder, error) { return nil, nil }

// pcmDecoder decodes A_PCM.
type pcmDecoder struct {
	rate, channels int
	sample         pcm.Format
	order          binary.ByteOrder
}

func openPCM(t *track) (packetDecoder, error) {
	d := &pcmDecoder{rate: int(t.rate), channels: t.channels, order: binary.LittleEndian}
	formats := map[int]pcm.Format{8: pcm.U8, 16: pcm.S16, 24: pcm.S24, 32: pcm.S32}
	switch t.codec {
	case "A_PCM/INT/BIG":
		d.order = binary.BigEndian
	case "A_PCM/FLOAT/IEEE":
		formats = map[int]pcm.Format{32: pcm.F32, 64: pcm.F64}
	}
	d.sample = formats[t.bits]
	if d.sample == pcm.None {
		return nil, fmt.Errorf("%w: %d bits a sample", ErrUnsupported, t.bits)
	}
	if t.rate < 1 || t.rate > 1<<20 || t.channels < 1 || t.channels > 255 {
		return nil, fmt.Errorf("%w: %v Hz, %d channels", ErrFormat, t.rate, t.channels)
	}
	return d, nil
}

func (d *pcmDecoder) Rate() int     { return d.rate }
func (d *pcmDecoder) Channels() int { return d.channels }

func (d *pcmDecoder) Decode(dst []float32, packet []byte) ([]float32, error) {
	frame := d.channels * d.sample.Size()
	return pcm.Decode(dst, packet[:len(packet)/frame*frame], d.sample, d.order), nil
}
