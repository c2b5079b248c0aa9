// Package sound changes the rate of samples and reads files of them.
package sound

import (
	"io"

	"quern/codecs"
	"quern/codecs/resample"
)

// Resample returns samples of one channel at another rate.
func Resample(x []float32, from, to int) ([]float32, error) {
	r, err := resample.New(from, to, 1)
	if err != nil {
		return nil, err
	}
	return r.Flush(r.Process(nil, x)), nil
}

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
