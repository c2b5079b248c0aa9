package lang

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// abbreviated reads an abbreviation of k letters that rest begins with, in small letters low.
func (s *scanner) abbreviated(rest, low string, k int) bool {
	for _, sign := range []string{"°", ".°", ".º", ".ª", "/", ". J.-C.", ".-C."} { // n° 5, C/ Mayor, av. J.-C.
		if words := s.abbreviations[low+sign]; words != "" && strings.HasPrefix(rest[k:], sign) {
			return s.put(strings.Fields(words), k+len(sign))
		}
	}
	if m := initialsAhead().FindString(rest[:min(len(rest), lookahead)]); m != "" && s.abbreviations[low+rest[k:len(m)]] == "" && s.abbreviations[strings.ToLower(m)] == "" && s.script == nil {
		s.put([]string{"!" + strings.ReplaceAll(m, ".", "")}, len(m)) // C.P.
		if endsSentence(rest[len(m):], false) {
			s.stop()
		}
		return true
	}
	if after := rest[k:]; s.saint != nil && rest[:k] == "S" && strings.HasPrefix(after, ". ") && unicode.IsUpper(firstRune(after[2:])) && unicode.IsLower(firstRune(after[2+utf8.RuneLen(firstRune(after[2:])):])) {
		name := after[2:]
		return s.put([]string{s.saint(name[:s.wordLen(name)])}, k+1)
	}
	if after := rest[k:]; strings.HasPrefix(after, ".") {
		if n := 1 + s.wordLen(after[1:]); n > 1 { // Sig.ra
			head := low + strings.ToLower(after[:n])
			if words := s.abbreviations[head]; words != "" {
				return s.put(strings.Fields(words), k+n)
			}
			if words := s.abbreviations[head+"."]; words != "" && strings.HasPrefix(after[n:], ".") { // a.C.
				return s.stopped(words, rest, k+n+1, true)
			}
		}
		if next, ok := strings.CutPrefix(after, ". "); ok { // p. ej.
			n := s.wordLen(next)
			if words := s.abbreviations[low+". "+strings.ToLower(next[:n])+"."]; words != "" && strings.HasPrefix(next[n:], ".") {
				return s.stopped(words, rest, k+len(". ")+n+len("."), true)
			}
		}
		if i := strings.LastIndexAny(low, "'’"); i > 0 {
			_, quote := utf8.DecodeRuneInString(low[i:])
			if words := strings.Fields(s.abbreviations[low[i+quote:]+"."]); len(words) > 0 { // l'avv. Neri
				words[0] = low[:i] + "'" + words[0]
				return s.put(words, k+1)
			}
		}
		if words := s.abbreviations[low+"."]; words != "" {
			return s.stopped(words, rest, k+1, low == "etc")
		}
	}
	if words := s.abbreviations[low]; words != "" {
		return s.put(strings.Fields(words), k)
	}
	return false
}

// stopped reads words for the k bytes that rest begins with, and the end of a sentence where their
// full stop is one: at the end of a line, or, where it may, before a capital.
func (s *scanner) stopped(words, rest string, k int, may bool) bool {
	s.put(strings.Fields(words), k)
	if endsSentence(rest[k:], may) {
		s.stop()
	}
	return true
}

// initialsAhead are two capitals or more with full stops.
var initialsAhead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Z]\.){2,6}`) })

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
