// Package audio prepares the input of networks: 16 kHz samples from a Source, the log-mel
// Spectrogram of Whisper, which follows a source, and the Features of others, which are
// of a piece as a whole.
package audio

import (
	"context"
	"errors"
	"io"
)

// A Source delivers mono audio at Rate, in [-1, 1]. Read fills dst as far as it
// can and returns io.EOF when nothing is left, as io.Reader does.
type Source interface {
	Read(dst []float32) (int, error)
}

// Samples is a Source over audio in memory.
type Samples []float32

// Read implements Source.
func (s *Samples) Read(dst []float32) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, *s)
	*s = (*s)[n:]
	return n, nil
}

// A Counter is a Source that counts the samples of another.
type Counter struct {
	Source
	N int
}

// Read implements Source.
func (c *Counter) Read(dst []float32) (int, error) {
	n, err := c.Source.Read(dst)
	c.N += max(0, n)
	return n, err
}

// ErrSource is returned for sources that make no progress.
var ErrSource = errors.New("asr: the audio source returns neither samples nor an error")

// A Reader fills dst; it returns io.EOF with less than len(dst) samples at the
// end of the audio.
type Reader func(ctx context.Context, dst []float32) (int, error)

// NewReader is the reader of a Source. Samples that are no numbers become silence.
func NewReader(src Source) Reader {
	return func(ctx context.Context, dst []float32) (int, error) { return readBlock(ctx, src, dst) }
}

// Clean makes silence of samples that are no numbers, or far beyond all that sounds are.
func Clean(x []float32) {
	for i, v := range x {
		if v != v || v > 1e4 || v < -1e4 {
			x[i] = 0
		}
	}
}

func readBlock(ctx context.Context, src Source, dst []float32) (int, error) {
	n := 0
	for idle := 0; n < len(dst); {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := src.Read(dst[n:])
		if k < 0 || k > len(dst)-n {
			return n, ErrSource
		}
		Clean(dst[n : n+k])
		n += k
		switch {
		case err != nil:
			return n, err
		case k > 0:
			idle = 0
		default:
			if idle++; idle > 100 {
				return n, ErrSource
			}
		}
	}
	return n, nil
}
