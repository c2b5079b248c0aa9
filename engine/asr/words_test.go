package asr

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/token"
)

// However long the words of an alignment are, and whatever the segments say of their times, no
// word begins before the one in front of it ends, within a window or across windows.
func TestWordsNeverGoBack(t *testing.T) {
	const eot = 10
	rng := rand.New(rand.NewPCG(5, 19))
	texts := []string{" one", " two", " three", ".", ",", " \"", "\"", "?"}
	lengths := []float64{0, 0.02, 0.2, 0.54, 0.6, 0.66, 0.7, 0.8, 1.5, 4, 9}
	stamp := func(x float64) float64 { return math.Round(x/stampSeconds) * stampSeconds }
	for trial := range 10000 {
		c := &clip{t: &transcriber{m: &Model{special: specials{eot: eot}}}}
		var all []Word
		offset := 0.0
		for range 3 { // windows
			var list []Segment
			var words []Word
			at := stamp(rng.Float64())
			for range 1 + rng.IntN(3) {
				s := Segment{Start: offset + stamp(max(0, at+rng.NormFloat64()))}
				s.Tokens = append(s.Tokens, eot+1)
				for range 1 + rng.IntN(6) {
					w := Word{Text: texts[rng.IntN(len(texts))], Start: at}
					at += lengths[rng.IntN(len(lengths))]
					w.End = at
					w.Tokens = slices.Repeat([]token.ID{1}, 1+rng.IntN(3))
					s.Tokens = append(s.Tokens, w.Tokens...)
					words = append(words, w)
				}
				s.End = max(s.Start+0.02, offset+stamp(at+rng.NormFloat64()))
				list = append(list, s)
			}
			c.share(list, words, offset)
			for _, s := range list {
				all = append(all, s.Words...)
			}
			offset = max(offset, round2(lastEnd(list))) // as clip.seek is

		}
		last := 0.0
		for i, w := range all {
			if w.Start < last-1e-9 || w.End < w.Start {
				t.Fatalf("trial %d: word %d is from %g to %g, after %g", trial, i, w.Start, w.End, last)
			}
			last = w.End
		}
	}
}
