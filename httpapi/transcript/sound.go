package transcript

import (
	"fmt"
	"io"
	"math"

	"quern/engine"
)

// silent is the level below which nothing can be heard: -60 dBFS.
const silent = 1e-3

// A Sound is a source that collects warnings about the sound that was read of it.
type Sound struct {
	engine.Source
	Missing func() string // the part of a file that is missing, once it was read; "" is none

	frames int
	peak   float32
	ended  bool
}

// Read implements engine.Source.
func (s *Sound) Read(dst []float32) (int, error) {
	n, err := s.Source.Read(dst)
	for _, x := range dst[:n] {
		s.peak = max(s.peak, x, -x)
	}
	s.frames += n
	s.ended = s.ended || err == io.EOF
	return n, err
}

// Seconds is how much was read.
func (s *Sound) Seconds() float64 { return float64(s.frames) / engine.HearingRate }

// Warnings are the problems of the sound, after it was read: that some is missing,
// that it is silent, or that it holds no speech, where nothing was heard.
func (s *Sound) Warnings(heard bool) (out []string) {
	if s.ended {
		if told := s.Missing(); told != "" {
			out = append(out, told)
		}
	}
	switch {
	case s.peak == 0:
		out = append(out, fmt.Sprintf("the audio is silent: all samples of its %.1f s are zero", s.Seconds()))
	case s.peak < silent:
		out = append(out, fmt.Sprintf("the audio is silent: the loudest sample of its %.1f s lies at %.0f dBFS", s.Seconds(), 20*math.Log10(float64(s.peak))))
	case !heard:
		out = append(out, fmt.Sprintf("no speech was found in the %.1f s of audio", s.Seconds()))
	}
	return out
}
