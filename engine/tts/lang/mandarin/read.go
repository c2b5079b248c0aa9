// Package mandarin reads Chinese characters as standard Mandarin: it finds the words of a text,
// the reading of each character in its word and beside its neighbours, and the tones that are
// changed by others; and it gives syllables in the symbols Kokoro v1.0 was trained with.
//
// Its lexicon is made by _gen, which names where the facts come from.
package mandarin

import (
	"slices"
	"unicode"
)

// Load reads the lexicon, which Has and Read do too where it was not. Without it Has knows nothing.
func Load() error {
	_, err := unpacked()
	return err
}

// Has reports whether a character has a reading.
func Has(r rune) bool {
	if !unicode.Is(unicode.Han, r) {
		return false
	}
	l, err := unpacked()
	if err != nil {
		return false
	}
	_, ok := l.readings[r]
	return ok
}

// Read returns the words of a text of characters that Has knows. border reports whether there
// can be no word across the place before the i-th character; tones change across it.
func Read(text []rune, border func(i int) bool) ([]Word, error) {
	l, err := unpacked()
	if err != nil || len(text) == 0 {
		return nil, err
	}
	t := reading{lexicon: l, written: text, chars: l.simplified(text)}
	var indexes []int32
	t.words, indexes = l.cut(t.chars, border)
	for k := range t.words {
		t.usual(&t.words[k], indexes[k])
	}
	t.lone()
	for k := range t.words {
		t.words[k].Said = slices.Clone(t.words[k].Read)
	}
	t.sandhi()
	return t.words, nil
}

// A reading is a text that is being read.
type reading struct {
	*lexicon
	written []rune
	chars   []rune // simplified
	words   []Word
}

// usual gives a word the reading of the lexicon. A traditional character that is read in another
// way than the simplified one alone keeps that where the word says nothing else.
func (t *reading) usual(w *Word, index int32) {
	var own []Syllable
	if index >= 0 {
		own = t.own(index, w.End-w.Start)
	}
	for i := w.Start; i < w.End; i++ {
		s := t.readings[t.chars[i]]
		if own != nil {
			s = own[i-w.Start]
		}
		if written := t.written[i]; s == t.readings[t.chars[i]] && written != t.chars[i] {
			s = t.readings[written]
			if p := doubtful[written]; p != "" {
				s, _ = Parse(p)
			}
		}
		w.Read = append(w.Read, s)
	}
}

// at returns the i-th character, or # outside of the text.
func (t *reading) at(i int) rune {
	if i < 0 || i >= len(t.chars) {
		return '#'
	}
	return t.chars[i]
}
