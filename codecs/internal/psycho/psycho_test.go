package psycho_test

import (
	"math"
	"testing"

	"quern/codecs/internal/psycho"
)

// A loud band raises the noise of its neighbours, more above it than below, and none in
// another window; all of it keeps its geometric mean.
func TestTargets(t *testing.T) {
	middle := []float64{500, 1000, 1500, 2000, 500, 1000, 1500, 2000}
	window := []uint8{0, 0, 0, 0, 1, 1, 1, 1}
	width := []uint16{4, 4, 4, 4, 4, 4, 4, 4}
	energy := []float64{0, 1, 0, 0, 0, 0, 0, 0}
	got := make([]float64, 8)
	psycho.New(middle, window, 1e-11).Targets(got, energy, width)
	if !(got[1] > got[2] && got[2] > got[3] && got[2] > got[0] && got[0] > got[4]) {
		t.Errorf("targets %v", got)
	}
	for _, v := range got[5:] {
		if v != got[4] {
			t.Errorf("another window: %v", got[4:])
		}
	}
	half := make([]float64, 8)
	psycho.New(middle[:4], window[:4], 1e-11).Targets(half, energy, width) // the bands twice over
	for i, v := range half {
		if math.Abs(v/got[i]-1) > 1e-9 {
			t.Errorf("twice the bands: %v, two windows: %v", half, got)
		}
	}
}

func TestEntropy(t *testing.T) {
	// Four lines of two bits, and two without.
	if got := psycho.Entropy([]float64{15, 0}, []float64{1, 1}, []uint16{4, 2}); math.Abs(got-8) > 1e-9 {
		t.Errorf("%v bits, want 8", got)
	}
}

func TestCutoff(t *testing.T) {
	last := 0.0
	for k := 1; k < 400; k++ {
		if hz := psycho.Cutoff(k); hz < last {
			t.Fatalf("%v Hz at %d kbit/s, less than before", hz, k)
		} else {
			last = hz
		}
	}
}
