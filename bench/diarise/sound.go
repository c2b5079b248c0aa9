package main

import (
	"io"

	"quern/codecs"
)

// samples are a codecs.Decoder of one channel.
type samples struct {
	x    []float32
	rate int
}

func (s *samples) Rate() int     { return s.rate }
func (s *samples) Channels() int { return 1 }

func (s *samples) Read(dst []float32) (int, error) {
	n := copy(dst, s.x)
	if s.x = s.x[n:]; len(s.x) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// resample returns sound at another rate.
func resample(x []float32, from, to int) (out []float32, err error) {
	m, err := codecs.NewMono(&samples{x, from}, to)
	if err != nil {
		return nil, err
	}
	buf := make([]float32, 1<<14)
	for {
		n, err := m.Read(buf)
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
