package audio

import (
	"quern/codecs"
)

// A Sound is a form speech can be answered in.
type Sound struct {
	codecs.Encoding
	rate    int // Hz; 0 is the voice's own
	Bitrate int // bit/s; 0 is the encoding's own
}

// sized reports whether its header tells its length, so that it is answered in one
// piece unless a stream is wanted.
func (s *Sound) sized() bool { return s.Name == "wav" || s.Name == "flac" || s.Name == "m4a" }

func (s *Sound) options(streamed bool) codecs.EncodeOptions {
	return codecs.EncodeOptions{Rate: s.rate, Bitrate: s.Bitrate, Speech: true, Streamed: streamed}
}

// NewSound is a sound of an encoding codecs knows.
func NewSound(encoding string, rate, bitrate int) (*Sound, error) {
	e, err := codecs.EncodingByName(encoding)
	return &Sound{e, rate, bitrate}, err
}
