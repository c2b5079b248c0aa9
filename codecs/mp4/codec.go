package mp4

import (
	"errors"
	"fmt"

	"quern/codecs/aac"
	"quern/codecs/flac"
	"quern/codecs/internal/fault"
	"quern/codecs/mp3"
	"quern/codecs/opus"
)

// A stream is decoded sound. Read is as that of Reader.
type stream interface {
	Rate() int
	Channels() int
	Read(dst []float32) (int, error)
}

// A codec is what a kind of sound description is decoded by.
type codec struct {
	name string
	open func(*entry, *samples) (stream, error) // nil: unsupported
}

// codecs are the kinds of sound descriptions, but for mp4a.
var codecs = map[string]codec{
	"Opus":       {"Opus", packetsOf(newOpus)},
	"fLaC":       {"FLAC", packetsOf(newFLAC)},
	"alac":       {"ALAC", packetsOf(newALAC)},
	".mp3":       {"MP3", openMP3},
	"ms\x00\x55": {"MP3", openMP3},
	"sowt":       {"PCM", openPCM},
	"twos":       {"PCM", openPCM},
	"raw ":       {"PCM", openPCM},
	"NONE":       {"PCM", openPCM},
	"in24":       {"PCM", openPCM},
	"in32":       {"PCM", openPCM},
	"fl32":       {"PCM", openPCM},
	"fl64":       {"PCM", openPCM},
	"lpcm":       {"PCM", openPCM},
	"ipcm":       {"PCM", openPCM},
	"fpcm":       {"PCM", openPCM},
	"ulaw":       {"µ-law", openPCM},
	"alaw":       {"A-law", openPCM},
	"ac-3":       {"AC-3", nil},
	"sac3":       {"AC-3", nil},
	"ec-3":       {"E-AC-3", nil},
	"ac-4":       {"AC-4", nil},
	"mlpa":       {"Dolby TrueHD", nil},
	"samr":       {"AMR", nil},
	"sawb":       {"AMR-WB", nil},
	"sawp":       {"AMR-WB+", nil},
	"enca":       {"encrypted audio", nil},
	"drms":       {"encrypted audio", nil},
	"dtsc":       {"DTS", nil},
	"dtsh":       {"DTS-HD", nil},
	"dtsl":       {"DTS-HD", nil},
	"dtse":       {"DTS Express", nil},
	"mha1":       {"MPEG-H", nil},
	"mhm1":       {"MPEG-H", nil},
	"ima4":       {"IMA ADPCM", nil},
	"ms\x00\x11": {"IMA ADPCM", nil},
	"ms\x00\x02": {"Microsoft ADPCM", nil},
	"MAC3":       {"MACE 3:1", nil},
	"MAC6":       {"MACE 6:1", nil},
	"QDM2":       {"QDesign Music", nil},
	"QDMC":       {"QDesign Music", nil},
	"Qclp":       {"QCELP", nil},
	"agsm":       {"GSM", nil},
	"spex":       {"Speex", nil},
}

// objects are what the samples of an mp4a description are, by the number in its
// esds.
//
// MP4 registration authority, object types.
var objects = map[byte]codec{
	0x40: {"AAC", packetsOf(newAAC)},
	0x66: {"AAC Main", packetsOf(newAAC)}, // MPEG-2; the configuration tells
	0x67: {"AAC", packetsOf(newAAC)},
	0x68: {"AAC SSR", packetsOf(newAAC)},
	0x69: {"MP3", openMP3}, // MPEG-2
	0x6b: {"MP3", openMP3}, // MPEG-1
	0xa5: {"AC-3", nil},
	0xa6: {"E-AC-3", nil},
	0xa9: {"DTS", nil},
	0xaa: {"DTS-HD", nil},
	0xab: {"DTS-HD", nil},
	0xac: {"DTS Express", nil},
	0xd0: {"AMR", nil},
	0xd1: {"AMR-WB", nil},
	0xdd: {"Vorbis", nil},
	0xe1: {"QCELP", nil},
}

// open returns the sound of samples that e describes, and what they are.
func (e *entry) open(s *samples) (stream, string, error) {
	c, ok := codecs[e.kind]
	if e.kind == "mp4a" {
		if c, ok = objects[e.object]; !ok {
			return nil, "", fmt.Errorf("%w: MPEG-4 object type %#x", ErrUnsupported, e.object)
		}
	}
	if !ok {
		return nil, "", fmt.Errorf("%w: sound description %q", ErrUnsupported, e.kind)
	}
	if c.open == nil {
		return nil, "", fmt.Errorf("%w: %s", ErrUnsupported, c.name)
	}
	d, err := c.open(e, s)
	return d, c.name, wrap(err)
}

// wrap makes errors of other packages those of this one.
func wrap(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrFormat), errors.Is(err, ErrUnsupported):
		return err
	case errors.Is(err, fault.ErrUnsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	case errors.Is(err, fault.ErrFormat):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

func openMP3(_ *entry, s *samples) (stream, error) { return mp3.NewReader(s) }

func newAAC(e *entry) (decoder, error) { return aac.NewDecoder(e.config) }

func newOpus(e *entry) (decoder, error) {
	head, err := opusHead(e.boxes["dOps"])
	if err != nil {
		return nil, err
	}
	return opus.NewDecoder(head)
}

func newFLAC(e *entry) (decoder, error) {
	info, err := streamInfo(e.boxes["dfLa"])
	if err != nil {
		return nil, err
	}
	return flac.NewDecoder(info)
}
