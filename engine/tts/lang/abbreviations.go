package lang

import (
	"strings"
	"unicode"
)

// abbreviated reads an abbreviation of k letters that rest begins with, in small letters low.
func (s *scanner) abbreviated(rest, low string, k int) bool {
	for _, sign := range []string{"°", ".°", ".º", ".ª"} { // n° 5
		if words := s.abbreviations[low+sign]; words != "" && strings.HasPrefix(rest[k:], sign) {
			s.put(strings.Fields(words), k+len(sign))
			return true
		}
	}
	if after := rest[k:]; strings.HasPrefix(after, ".") {
		if n := 1 + s.wordLen(after[1:]); n > 1 { // Sig.ra
			if words := s.abbreviations[low+strings.ToLower(after[:n])]; words != "" {
				s.put(strings.Fields(words), k+n)
				return true
			}
		}
		if words := s.abbreviations[low+"."]; words != "" {
			k++
			s.put(strings.Fields(words), k)
			if endsSentence(rest[k:], low == "etc") {
				s.stop()
			}
			return true
		}
	}
	if words := s.abbreviations[low]; words != "" {
		s.put(strings.Fields(words), k)
		return true
	}
	return false
}

// initials reports whether a word in capitals is said letter by letter: where it has two
// letters, or vowels and consonants do not alternate.
func (s *scanner) initials(w string) bool {
	letters := []rune(w)
	if s.capitals || len(letters) > 6 || w != strings.ToUpper(w) || strings.ToLower(w) == w {
		return false
	}
	if len(letters) == 1 {
		return s.words[strings.ToLower(w)] == "" && !strings.ContainsRune(s.alone, unicode.ToLower(letters[0]))
	}
	if s.said[w] {
		return false
	}
	if len(letters) == 2 {
		return true
	}
	vowel := func(r rune) bool { return strings.ContainsRune("AEIOUÁÉÍÓÚ", r) }
	for i, r := range letters {
		if !unicode.IsLetter(r) {
			return false
		}
		next := i+1 < len(letters) && vowel(letters[i+1])
		if !vowel(r) && !next && (i == 0 || !vowel(letters[i-1])) || i > 0 && vowel(r) && vowel(letters[i-1]) {
			return true
		}
	}
	return false
}
