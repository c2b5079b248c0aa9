// Package sound changes the rate of samples and reads files of them.
package sound

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

// Resample returns samples of one channel at another rate.
func Resample(x []float32, from, to int) ([]float32, error) { return Mono(&samples{x, from}, to) }

// Mono reads all of src as one channel at a rate.
func Mono(src codecs.Decoder, rate int) (all []float32, err error) {
	m, err := codecs.NewMono(src, rate)
	if err != nil {
		return nil, err
	}
	for block := make([]float32, 1<<14); ; {
		n, err := m.Read(block)
		all = append(all, block[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
