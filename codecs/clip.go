package codecs

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// clipSlack is how much longer or shorter a clip may be than asked: decoders add a little.
const clipSlack = 100 * time.Millisecond

// Clip reads a short sound whole, mixed to one channel at a rate. It lasts from least to
// most; of one that is longer no more than that is decoded. One in which nothing is heard is
// an error.
func Clip(r io.Reader, rate int, least, most time.Duration) ([]float32, error) {
	s, err := Open(r, Options{MaxDuration: 2 * most})
	if err != nil {
		return nil, err
	}
	m, err := NewMono(s, rate)
	if err != nil {
		return nil, err
	}
	samples := func(d time.Duration) int { return int(d.Seconds() * float64(rate)) }
	x := make([]float32, samples(most+clipSlack)+1)
	n := 0
	for n < len(x) && err == nil {
		var k int
		k, err = m.Read(x[n:])
		n += k
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n == len(x) || n < samples(least-clipSlack) {
		return nil, fmt.Errorf("it must last %g to %g seconds", least.Seconds(), most.Seconds())
	}
	x = x[:n]
	if !slices.ContainsFunc(x, func(v float32) bool { return v > 0 || v < 0 }) { // nor what is no number
		return nil, errors.New("it is silent")
	}
	return x, nil
}
