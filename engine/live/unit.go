package live

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine"
	"quern/engine/asr/heard"
)

// A unit is a word with the space before it, a character of a script without spaces, or a
// run of punctuation, so that a word can be settled before the text that follows it.
type unit struct {
	text       string
	folded     string // for comparing: no spaces, capitals or punctuation; "" of punctuation
	start, end float64
	word       *heard.Word // that begins in it, or nil
	logprobs   []heard.TokenLogprob
}

// kind is the class of a character in a unit.
type kind int

const (
	space kind = iota
	mark       // punctuation
	letter
	single // a letter that stands alone
)

func kindOf(r rune) kind {
	switch {
	case unicode.IsSpace(r):
		return space
	case heard.Unspaced(r):
		return single
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return letter
	}
	return mark
}

// units are those of a segment of sound that begins at a time.
func units(s engine.Segment, from float64) (list []unit) {
	text := s.Text
	at := 0
	for at < len(text) {
		n := next(text[at:])
		u := unit{text: text[at : at+n], folded: fold(text[at : at+n])}
		share := func(i int) float64 { return from + s.Start + (s.End-s.Start)*float64(i)/float64(len(text)) }
		u.start, u.end = share(at), share(at+n)
		list = append(list, u)
		at += n
	}
	place := places(list)
	at = 0
	for i := range s.Words {
		w := s.Words[i]
		w.Start, w.End = w.Start+from, w.End+from
		if k := strings.Index(text[at:], w.Text); k >= 0 {
			if u := place(at + k); u != nil && u.word == nil {
				u.word, u.start, u.end = &w, w.Start, w.End
			}
			at += k + len(w.Text)
		}
	}
	place, at = places(list), 0
	for _, l := range s.Logprobs {
		if u := place(at); u != nil {
			u.logprobs = append(u.logprobs, l)
		}
		at += len(l.Bytes)
	}
	return list
}

// next is the length of the unit a text begins with.
func next(text string) int {
	i := 0
	begun := space
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		k := kindOf(r)
		switch {
		case begun == space:
			begun = k
		case k == begun && k != single, begun == single && unicode.IsMark(r):
		case begun == letter && k == mark && joins(text[i:], n):
		default:
			return i
		}
		i += n
	}
	return i
}

// joins reports whether a mark stands inside a word, as in "don't", "3.5" and "well-known".
func joins(text string, n int) bool {
	after, _ := utf8.DecodeRuneInString(text[n:])
	return len(text) > n && kindOf(after) == letter
}

// fold is a word as it is compared.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if k := kindOf(r); k == space || k == mark {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// places finds the unit at a byte of the text, for bytes in order.
func places(list []unit) func(at int) *unit {
	i, end := 0, 0
	if len(list) > 0 {
		end = len(list[0].text)
	}
	return func(at int) *unit {
		for i < len(list) && at >= end {
			if i++; i < len(list) {
				end += len(list[i].text)
			}
		}
		if i == len(list) {
			return nil
		}
		return &list[i]
	}
}

// join makes a segment of units.
func join(list []unit) (s engine.Segment) {
	if len(list) == 0 {
		return s
	}
	var b strings.Builder
	s.Start, s.End = list[0].start, list[0].end
	for i := range list {
		u := &list[i]
		b.WriteString(u.text)
		s.Start, s.End = min(s.Start, u.start), max(s.End, u.end)
		s.Logprobs = append(s.Logprobs, u.logprobs...)
		if n := len(s.Words); u.word != nil {
			w := *u.word
			w.Text = u.text
			s.Words = append(s.Words, w)
		} else if n > 0 {
			s.Words[n-1].Text += u.text
		}
	}
	sum := 0.0
	for _, l := range s.Logprobs {
		s.Tokens = append(s.Tokens, l.ID)
		sum += float64(l.Logprob)
	}
	s.AvgLogprob = sum / float64(max(len(s.Logprobs), 1))
	s.Text = b.String()
	return s
}

func trimmed(s string) string { return strings.TrimLeft(s, " ") }
