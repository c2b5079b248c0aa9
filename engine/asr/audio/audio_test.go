package audio

import (
	"errors"
	"io"
	"math"
	"slices"
	"testing"
)

// pieces is a Source that delivers one piece a call; without any it makes no progress.
type pieces [][]float32

func (p *pieces) Read(dst []float32) (int, error) {
	if len(*p) == 0 {
		return 0, nil
	}
	n := copy(dst, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// A Reader fills what it is given, takes for silence what is no sample, and gives up on
// a source that makes no progress.
func TestReader(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	read := NewReader(&pieces{{1, nan}, {}, {inf, -2}, {-2e4}, {3}})
	x := make([]float32, 5)
	if n, err := read(t.Context(), x); n != 5 || err != nil || !slices.Equal(x, []float32{1, 0, 0, -2, 0}) {
		t.Errorf("%d samples %v, %v", n, x, err)
	}
	if n, err := read(t.Context(), x); n != 1 || !errors.Is(err, ErrSource) {
		t.Errorf("after the last piece: %d samples, %v; want 1 and ErrSource", n, err)
	}
	short := Samples{1, 2}
	if n, err := NewReader(&short)(t.Context(), x); n != 2 || err != io.EOF {
		t.Errorf("two samples: %d, %v", n, err)
	}
}

func BenchmarkFeatures(b *testing.B) {
	m := NewMelBank(80)
	x := make([]float32, 30*Rate)
	for i := range x {
		x[i] = float32(i%101)/101 - 0.5
	}
	for b.Loop() {
		src := Samples(x)
		f := NewSpectrogram(m, NewReader(&src))
		if _, err := f.Need(b.Context(), 3000); err != nil {
			b.Fatal(err)
		}
	}
}
