package ogg

import (
	"fmt"
	"strings"

	"quern/codecs/flac"
	"quern/codecs/opus"
	"quern/codecs/vorbis"
)

// link decodes one logical stream; a chained file has several in a row.
type link interface {
	// header takes a packet before the first of audio and reports whether it
	// was one of the headers.
	header(packet []byte) (bool, error)
	// preSkip is the number of frames to drop from the start.
	preSkip() int

	// These are valid after the headers.
	Rate() int
	Channels() int
	Decode(dst []float32, packet []byte) ([]float32, error)
}

// mappings lists what the first packet of a logical stream starts with. Audio
// without an open function is refused by name, what is no audio is passed over.
var mappings = []struct {
	name, magic string
	audio       bool
	open        func(first []byte) (link, error)
}{
	{"Opus", "OpusHead", true, openOpus},
	{"Vorbis", "\x01vorbis", true, openVorbis},
	{"FLAC", "\x7fFLAC", true, openFLAC},
	{"Speex", "Speex   ", true, nil},
	{"CELT", "CELT    ", true, nil},
	{"PCM", "PCM     ", true, nil},
	{"Theora", "\x80theora", false, nil},
	{"VP8", "OVP80", false, nil},
	{"Dirac", "BBCD\x00", false, nil},
	{"Skeleton", "fishead\x00", false, nil},
}

// openLink returns the decoder for the stream whose first packet is first, nil
// when that is no audio.
func openLink(first []byte) (link, string, error) {
	for _, m := range mappings {
		switch {
		case !strings.HasPrefix(string(first[:min(len(first), len(m.magic))]), m.magic):
			continue
		case m.open != nil:
			l, err := m.open(first)
			return l, m.name, err
		case m.audio:
			return nil, m.name, fmt.Errorf("%w: %s audio", ErrUnsupported, m.name)
		}
		return nil, m.name, fmt.Errorf("%w: no audio, only %s", ErrUnsupported, m.name)
	}
	return nil, "", fmt.Errorf("%w: unknown stream", ErrUnsupported)
}

// opusLink has one header more, of comments: RFC 7845, section 3.
type opusLink struct {
	*opus.Decoder
	tags bool
}

func openOpus(first []byte) (link, error) {
	d, err := opus.NewDecoder(first)
	if err != nil {
		return nil, err
	}
	return &opusLink{Decoder: d}, nil
}

func (l *opusLink) header([]byte) (bool, error) {
	wanted := !l.tags
	l.tags = true
	return wanted, nil
}

func (l *opusLink) preSkip() int { return l.PreSkip() }

// vorbisLink has two headers more: comments and setup.
type vorbisLink struct {
	*vorbis.Decoder
	ident    []byte
	comments bool
}

func openVorbis(first []byte) (link, error) {
	return &vorbisLink{ident: append([]byte(nil), first...)}, nil
}

func (l *vorbisLink) header(packet []byte) (bool, error) {
	switch {
	case l.Decoder != nil:
		return false, nil
	case !l.comments:
		l.comments = true
		return true, nil
	}
	var err error
	l.Decoder, err = vorbis.NewDecoder(l.ident, packet)
	return true, err
}

func (l *vorbisLink) preSkip() int { return 0 }

// flacLink follows xiph.org's "Ogg FLAC mapping" 1.0: the first packet holds
// STREAMINFO, those after it metadata blocks, and audio starts with 0xff.
type flacLink struct{ *flac.Decoder }

func openFLAC(first []byte) (link, error) {
	const info = 5 + 2 + 2 + 4 + 4 // "\x7fFLAC", version, count, "fLaC", block header
	if len(first) < info {
		return nil, fmt.Errorf("%w: FLAC header of %d bytes", ErrFormat, len(first))
	}
	d, err := flac.NewDecoder(first[info:])
	if err != nil {
		return nil, err
	}
	return flacLink{d}, nil
}

func (flacLink) header(packet []byte) (bool, error) {
	return len(packet) == 0 || packet[0] != 0xff, nil
}

func (flacLink) preSkip() int { return 0 }
