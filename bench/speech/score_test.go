package main

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name, said, heard   string
		words, raw, spelled int
	}{
		{"the same", "Don't go, Ann!", "don't go ann", 3, 0, 0},
		{"one changed", "a red boat", "a read boat", 3, 1, 1},
		{"one missing, one too many", "we saw the old mill", "saw the the old mill", 5, 2, 2},
		{"nothing heard", "two words", "", 2, 2, 2},
		{"nothing said", "", "a word", 0, 2, 2},
		{"an acronym as a word", "the f b i and the c i a", "the fbi and the cia", 9, 6, 0},
		{"an acronym's beginning", "the u s a won", "the us a one", 5, 3, 1},
		{"letters that are none of it", "the f b i", "the bf", 4, 3, 3},
	} {
		said, heard := words(tt.said), words(tt.heard)
		if got := compare(said, heard); got != (score{tt.words, tt.raw}) {
			t.Errorf("%s: %v; want %d wrong of %d", tt.name, got, tt.raw, tt.words)
		}
		if got := compare(said, spelled(said, heard)); got.wrong != tt.spelled {
			t.Errorf("%s, spelled: %d wrong; want %d", tt.name, got.wrong, tt.spelled)
		}
	}
}

// TestSentences: what is written down is words of letters alone, and no sentence that
// the voices were fitted to is among the unseen.
func TestSentences(t *testing.T) {
	seen := map[string]bool{}
	for _, set := range [][]sentence{develop, unseen} {
		for _, s := range set {
			if seen[s.text] {
				t.Errorf("%q is there twice", s.text)
			}
			seen[s.text] = true
			if said := s.said; said == "" && strings.ContainsAny(s.text, "0123456789") {
				t.Errorf("%q does not say how its numbers are said", s.text)
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d sentences; want 60 and more", len(seen))
	}
}
