package main

import (
	"strings"
	"unicode"

	"quern/bench/internal/stat"
)

// A score counts the words that should have been written and the differences.
type score struct{ words, wrong int }

func (s score) percent() float64 {
	if s.words == 0 {
		return 0
	}
	return 100 * float64(s.wrong) / float64(s.words)
}

func (s *score) add(t score) { s.words, s.wrong = s.words+t.words, s.wrong+t.wrong }

// compare counts the words to be put in, left out or changed to make heard said.
func compare(said, heard []string) score {
	return score{len(said), stat.Distance(said, heard)}
}

// words splits a text into lower-case words without punctuation.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\''
	})
}

// spelled writes the words of heard that are said letter by letter as letters: a
// recogniser that writes "fbi" for "f b i" has understood.
func spelled(said, heard []string) []string {
	acronyms := map[string]bool{}
	for i := range said {
		run := ""
		for _, w := range said[i:] {
			if len(w) > 1 {
				break
			}
			if run += w; len(run) > 1 {
				acronyms[run] = true
			}
		}
	}
	var out []string
	for _, w := range heard {
		if acronyms[w] {
			out = append(out, strings.Split(w, "")...)
		} else {
			out = append(out, w)
		}
	}
	return out
}
