package realtime

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of what is spoken at a time, in bytes of text. The first is short, so that
// something is heard soon; voices rush what is long and stumble over what is short.
const (
	leastFirst  = 8
	leastPiece  = 24
	clauseAfter = 80 // a first piece may end at a comma from here on
	mostPiece   = 300
)

// sentences cuts a text that grows into pieces to be spoken.
type sentences struct {
	rest  string
	at    int // bytes of the text before rest
	given int // pieces so far
}

// A sentence is a piece of a text.
type sentence struct {
	at   int // bytes of the text before it
	text string
}

// push takes more text and returns the pieces that are whole.
func (s *sentences) push(text string) (whole []sentence) {
	s.rest += text
	for {
		n := s.cut()
		if n == 0 {
			return whole
		}
		whole = s.take(n, whole)
	}
}

// end returns what is left.
func (s *sentences) end() []sentence { return s.take(len(s.rest), nil) }

// take gives the first n bytes away, unless there is nothing in them.
func (s *sentences) take(n int, list []sentence) []sentence {
	if piece := s.rest[:n]; strings.TrimSpace(piece) != "" {
		list = append(list, sentence{s.at, piece})
		s.given++
	}
	s.rest, s.at = s.rest[n:], s.at+n
	return list
}

// cut returns how many bytes the first piece has; 0 while it is not known.
func (s *sentences) cut() int {
	least := leastPiece
	if s.given == 0 {
		least = leastFirst
	}
	clause, word := 0, 0
	for i, end := 0, 0; i < len(s.rest); i = end {
		r, size := utf8.DecodeRuneInString(s.rest[i:])
		if end = i + size; end > mostPiece {
			break
		}
		switch {
		case unicode.IsSpace(r):
			if r == '\n' && strings.TrimSpace(s.rest[:i]) != "" || i >= least && s.ends(s.rest[:i]) {
				return end
			}
			word = end
			if i > 0 && strings.ContainsRune(",;:–—", lastRune(s.rest[:i])) {
				clause = end
			}
		case strings.ContainsRune("。！？", r):
			return end
		}
	}
	switch {
	case s.given == 0 && clause >= clauseAfter:
		return clause
	case len(s.rest) <= mostPiece:
		return 0
	case clause > 0:
		return clause
	case word > 0:
		return word
	}
	n := mostPiece
	for !utf8.RuneStart(s.rest[n]) {
		n--
	}
	return n
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// abbreviations are words whose point ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "sr": true, "jr": true, "vs": true,
	"e.g": true, "i.e": true, "cf": true, "approx": true, "dept": true, "est": true, "fig": true, "inc": true, "ltd": true,
}

// ends reports whether a text that a space follows ends a sentence.
func (s *sentences) ends(text string) bool {
	text = strings.TrimRight(text, "\"'”’»)]*_")
	last := lastRune(text)
	if last != '.' {
		return last == '!' || last == '?' || last == '…'
	}
	text = strings.TrimSuffix(text, ".")
	word := text[strings.LastIndexFunc(text, unicode.IsSpace)+1:]
	if abbreviations[strings.ToLower(word)] {
		return false
	}
	// Initials, and numbers of a list.
	if utf8.RuneCountInString(word) == 1 && (unicode.IsUpper(lastRune(word)) || unicode.IsDigit(lastRune(word))) {
		return false
	}
	return true
}
