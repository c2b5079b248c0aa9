package audio_test

import (
	"fmt"
	"slices"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/audio"
)

// A script is a detector that returns a test's probabilities.
type script []float32

func (s *script) Listen() engine.Listener { return s }
func (s *script) Hear([]float32) float32 {
	p := (*s)[0]
	*s = (*s)[1:]
	return p
}

func TestTurns(t *testing.T) {
	hops := func(p float32, n int) []float32 { return slices.Repeat([]float32{p}, n) }
	for _, tt := range []struct {
		name  string
		heard [][]float32
		want  string // hop and what changed there
	}{
		{"speech", [][]float32{hops(0, 5), hops(1, 10), hops(0, 20)}, "7 began, 18 ended, "},
		{"a click", [][]float32{hops(0, 5), hops(1, 2), hops(0, 20)}, ""},
		{"a short silence", [][]float32{hops(1, 5), hops(0, 3), hops(1, 1), hops(0, 3), hops(1, 5), hops(0, 4)}, "2 began, 20 ended, "},
		{"between the thresholds", [][]float32{hops(1, 5), hops(0.4, 50), hops(0, 1), hops(0.4, 3)}, "2 began, 58 ended, "},
		{"twice", [][]float32{hops(1, 3), hops(0, 4), hops(1, 3), hops(0, 4)}, "2 began, 6 ended, 9 began, 13 ended, "},
	} {
		s := script(slices.Concat(tt.heard...))
		// 100 ms are four hops.
		f := audio.NewTurns(&s, 0.5, audio.LoudHops, 100)
		got := ""
		for i := 0; len(s) > 0; i++ {
			if c := f.Hear(nil); c != audio.Same {
				got += fmt.Sprintf("%d %s, ", i, map[audio.Change]string{audio.Began: "began", audio.Ended: "ended"}[c])
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
