package httpapi

import (
	"quern/codecs"
)

// A sound is a form speech can be answered in.
type sound struct {
	codecs.Encoding
	rate    int // Hz; 0 is the voice's own
	bitrate int // bit/s; 0 is the encoding's own
}

// sized says whether its header tells its length, so that it is answered in one
// piece unless a stream is wanted.
func (s *sound) sized() bool { return s.Name == "wav" }

func (s *sound) options(streamed bool) codecs.EncodeOptions {
	return codecs.EncodeOptions{Rate: s.rate, Bitrate: s.bitrate, Speech: true, Streamed: streamed}
}

func newSound(encoding string, rate, bitrate int) (*sound, error) {
	e, err := codecs.EncodingByName(encoding)
	return &sound{e, rate, bitrate}, err
}
