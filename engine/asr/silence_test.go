package asr

import (
	"testing"
)

func word(text string, start, end, p float64) Word {
	return Word{Text: text, Start: start, End: end, Probability: p}
}

func TestOddity(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    Word
		want float64
	}{
		{"an ordinary word", word(" so", 1, 1.3, 0.9), 0},
		{"an unlikely one", word(" so", 1, 1.3, 0.1), 1},
		{"no time at all", word(" so", 1, 1, 0.9), 0.133 * 15},
		{"four seconds", word(" so", 1, 5, 0.9), 2},
	} {
		if got := oddity(&tt.w); !near(got, tt.want, 1e-9) {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
	if odd(nil) || odd(&Segment{}) || odd(&Segment{Words: []Word{word(" so", 1, 1.3, 0.9), word(" it", 1.3, 1.5, 0.9)}}) {
		t.Error("ordinary words are odd")
	}
	if !odd(&Segment{Words: []Word{word(" so", 1, 1.3, 0.1), word(" it", 1.3, 1.4, 0.1), word(" is", 1.4, 1.5, 0.1)}}) {
		t.Error("three unlikely words are not odd")
	}
}

func TestSkipSilence(t *testing.T) {
	good := Segment{Start: 3, End: 5, Words: []Word{word(" so", 3, 3.4, 0.9), word(" it", 3.4, 5, 0.9)}}
	madeUp := Segment{Start: 12, End: 13, Words: []Word{word(" bye", 12, 12, 0.01)}}
	first := Segment{Start: 8, End: 9, Words: []Word{word(" bye", 8, 8, 0.01)}}
	for _, tt := range []struct {
		name string
		list []Segment
		left int
		drop bool
		seek int
	}{
		{"what is surrounded by silence goes", []Segment{good, madeUp}, 1, false, 1200},
		{"what is not stays", []Segment{good}, 1, false, 500},
		{"silence before what is made up is skipped", []Segment{first, good}, 0, true, 800},
	} {
		c := &clip{t: &transcriber{o: &Options{SkipSilence: 2}}, window: 3000}
		left, drop := c.skip(tt.list, 0, 3000, false)
		if len(left) != tt.left || drop != tt.drop || c.seek != tt.seek {
			t.Errorf("%s: %d segments, dropped %v, on to %d; want %d, %v, %d", tt.name, len(left), drop, c.seek, tt.left, tt.drop, tt.seek)
		}
	}
}
