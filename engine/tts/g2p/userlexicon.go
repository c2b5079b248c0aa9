package g2p

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a lexicon.
const (
	MaxLexicon     = 1 << 20 // bytes
	maxLexemes     = 20_000
	maxGrapheme    = 128 // bytes
	maxPhonemeText = 256
	maxAlias       = 500
)

// A UserLexicon is how a user wants words to be said. It comes before every
// dictionary. A word in small letters stands for it with capitals too; one with
// capitals is found as it is written only.
type UserLexicon struct {
	lexemes map[string]lexeme // by spelling; the first of each
	small   map[string]string // those in small letters, by what is caseless of them
	lengths map[string][]int  // of spellings in bytes, each once, the longest first; by the first word or sign, caseless
	n       int
}

// A lexeme is what a spelling stands for: its phonemes, US and British, or other words to be
// read in its place.
type lexeme struct {
	said  [2]string // in English; "" where it lacks a sound
	ipa   string
	alias string
}

// Len is how many spellings there are.
func (l *UserLexicon) Len() int { return l.n }

// ParseLexicon reads a lexicon: a document of the W3C's Pronunciation Lexicon
// Specification (lexeme, grapheme, phoneme in ipa, alias), a JSON object of words
// and their phonemes, or lines of a word or some, a space or tab, and its phonemes. In the
// last two a value that begins with = is words to be read in its place.
//
// Errors wrap ErrFormat and say which word or line is meant.
func ParseLexicon(data []byte) (*UserLexicon, error) {
	if len(data) > MaxLexicon {
		return nil, fmt.Errorf("%w: a lexicon of %d bytes; the most is %d", ErrFormat, len(data), MaxLexicon)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: the lexicon is not UTF-8", ErrFormat)
	}
	l := &UserLexicon{lexemes: map[string]lexeme{}, small: map[string]string{}, lengths: map[string][]int{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var err error
	switch first := bytes.TrimSpace(data); {
	case len(first) > 0 && first[0] == '<':
		err = l.readPLS(data)
	case len(first) > 0 && first[0] == '{':
		err = l.readJSON(data)
	default:
		err = l.readList(string(data))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	for key, list := range l.lengths {
		slices.SortFunc(list, func(a, b int) int { return b - a })
		l.lengths[key] = slices.Compact(list)
	}
	return l, nil
}

// add puts a spelling in; a value that begins with = is an alias.
func (l *UserLexicon) add(grapheme, value string) error {
	grapheme = strings.Join(strings.Fields(grapheme), " ")
	var x lexeme
	alias, isAlias := strings.CutPrefix(strings.TrimSpace(value), "=")
	switch {
	case grapheme == "":
		return errors.New("a word is empty")
	case len(grapheme) > maxGrapheme:
		return fmt.Errorf("the word %.40q… has %d bytes; the most is %d", grapheme, len(grapheme), maxGrapheme)
	case l.n >= maxLexemes:
		return fmt.Errorf("more than %d words", maxLexemes)
	case isAlias && (strings.TrimSpace(alias) == "" || len(alias) > maxAlias):
		return fmt.Errorf("the alias of %q has %d bytes; it needs 1 to %d", grapheme, len(strings.TrimSpace(alias)), maxAlias)
	case isAlias:
		x.alias = strings.TrimSpace(alias)
	case len(value) > maxPhonemeText:
		return fmt.Errorf("the phonemes of %q have %d bytes; the most is %d", grapheme, len(value), maxPhonemeText)
	default:
		x.ipa = strings.TrimSpace(value)
		for _, a := range []Accent{US, British} {
			x.said[a], _ = FromIPA(x.ipa, a)
		}
		// Sounds that English lacks may be meant for another language.
		if _, err := Symbols(x.ipa); x.said[US] == "" && err != nil {
			return fmt.Errorf("the word %q: %w", grapheme, err)
		}
	}
	l.n++
	if _, there := l.lexemes[grapheme]; there {
		return nil
	}
	l.lexemes[grapheme] = x
	if folded := caseless(grapheme); strings.ToLower(grapheme) == grapheme && l.small[folded] == "" {
		l.small[folded] = grapheme
	}
	key := caseless(lead(grapheme))
	l.lengths[key] = append(l.lengths[key], len(grapheme))
	return nil
}

// caseless writes text so that two of which strings.EqualFold holds are equal.
func caseless(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, text)
}

// lead is the run of letters and digits s begins with, or its first character; a Chinese character
// stands alone, as there are no spaces between words.
func lead(s string) string {
	if r, n := utf8.DecodeRuneInString(s); unicode.Is(unicode.Han, r) {
		return s[:n]
	}
	k := strings.IndexFunc(s[:min(len(s), maxGrapheme)], func(r rune) bool { return !joins(r) && !unicode.Is(unicode.Mn, r) })
	switch {
	case k < 0:
		return s[:min(len(s), maxGrapheme)]
	case k == 0:
		_, k = utf8.DecodeRuneInString(s)
	}
	return s[:k]
}

func (l *UserLexicon) readList(text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		grapheme, value, ok := strings.Cut(line, "\t")
		if k := strings.Index(line, " ="); !ok && k > 0 {
			grapheme, value, ok = line[:k], line[k+1:], true
		} else if k := strings.LastIndexAny(line, " "); !ok && k > 0 {
			grapheme, value, ok = line[:k], line[k+1:], true
		}
		if !ok || strings.TrimSpace(value) == "" {
			return fmt.Errorf("line %d is %.60q; write a word, a space or tab, and its phonemes", n, line)
		}
		if err := l.add(grapheme, value); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

func (l *UserLexicon) readJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.Token()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		value, err := d.Token()
		if err != nil {
			return err
		}
		s, ok := value.(string)
		if !ok {
			return fmt.Errorf("the value of %q is no string of phonemes", key)
		}
		if err := l.add(key.(string), s); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something stands behind the object")
	}
	return nil
}

// parents are the elements of PLS that are read, and what each stands in.
var parents = map[string]string{"lexicon": "", "lexeme": "lexicon", "grapheme": "lexeme", "phoneme": "lexeme", "alias": "lexeme", "example": "lexeme", "meta": "lexicon"}

// readPLS reads the W3C's Pronunciation Lexicon Specification 1.0 but metadata of
// other vocabularies, and the first of several phonemes.
func (l *UserLexicon) readPLS(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	fail := func(format string, args ...any) error {
		line, column := d.InputPos()
		return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
	}
	// What is declared is how a file was written; data is UTF-8 already.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var open []string
	var graphemes []string
	var value string
	var text strings.Builder
	roots := 0
	for {
		token, err := d.Token()
		if err == io.EOF && roots == 0 {
			return fail("there is no <lexicon>")
		}
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.Directive:
			return fail("a document type is not read")
		case xml.StartElement:
			name, in := t.Name.Local, ""
			if len(open) > 0 {
				in = open[len(open)-1]
			}
			if want, ok := parents[name]; !ok {
				return fail("<%s> is not supported; a lexicon has lexeme, grapheme, phoneme, alias, example and meta", name)
			} else if want != in {
				return fail("<%s> stands in <%s>; it belongs in <%s>", name, in, want)
			}
			for _, a := range t.Attr {
				if a.Name.Local == "alphabet" && a.Value != "ipa" && a.Value != "x-kokoro" {
					return fail("the alphabet %q is not supported; write ipa", a.Value)
				}
				if a.Name.Local == "role" {
					return fail("role is not supported; write a lexeme for each spelling")
				}
			}
			if open = append(open, name); len(open) == 1 {
				if roots++; roots > 1 {
					return fail("a second <lexicon>")
				}
			}
			text.Reset()
			if name == "lexeme" {
				graphemes, value = nil, ""
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			name := open[len(open)-1]
			open = open[:len(open)-1]
			switch name {
			case "grapheme":
				graphemes = append(graphemes, text.String())
			case "phoneme":
				if value == "" {
					value = strings.TrimSpace(text.String())
				}
			case "alias":
				value = "=" + strings.TrimSpace(text.String())
			case "lexeme":
				if len(graphemes) == 0 || value == "" {
					return fail("a lexeme needs a grapheme, and a phoneme or an alias")
				}
				for _, g := range graphemes {
					if err := l.add(g, value); err != nil {
						return fail("%v", err)
					}
				}
			}
			text.Reset()
		}
	}
}

// find returns the longest spelling text begins with that ends where a word may,
// and how many bytes of text it takes. One with the capitals of the text comes first.
func (l *UserLexicon) find(text string) (x lexeme, n int) {
	if text == "" {
		return lexeme{}, 0
	}
	for _, n := range l.lengths[caseless(lead(text))] {
		if n > len(text) {
			continue
		}
		written := text[:n]
		if end := lastRune(written); joins(end) && !unicode.Is(unicode.Han, end) && joins(firstRune(text[n:])) {
			continue
		}
		if x, ok := l.lexemes[written]; ok {
			return x, n
		}
		if small := l.small[caseless(written)]; len(small) == n {
			return l.lexemes[small], n
		}
	}
	return lexeme{}, 0
}

// An Entry is what a lexicon has for the first bytes of a text.
type Entry struct {
	Len   int    // bytes of the text
	IPA   string // as it was given
	Alias string // words to be read in its place, if IPA is ""
}

// Find returns the longest spelling that a text begins with and that ends where a word
// may. A nil lexicon has none.
func (l *UserLexicon) Find(text string) (Entry, bool) {
	if l == nil {
		return Entry{}, false
	}
	x, n := l.find(text)
	if n == 0 {
		return Entry{}, false
	}
	return Entry{Len: n, IPA: x.ipa, Alias: x.alias}, true
}

// own reads what the user's lexicons have at this place.
func (s *scanner) own(rest string) bool {
	for _, l := range s.lexicons {
		x, n := l.find(rest)
		if n == 0 {
			continue
		}
		written := rest[:n]
		if x.alias != "" {
			if s.replaced += len(x.alias); s.replaced > maxReplaced {
				return false
			}
			s.instead(x.alias, n)
			if k := len(s.out); k > 0 && s.out[k-1].Kind == Word {
				s.possessive()
			}
			return true
		}
		said := x.said[s.accent]
		if said == "" {
			_, err := FromIPA(x.ipa, s.accent)
			s.refused = fmt.Errorf("%w: the word %q in English: %w", ErrFormat, written, err)
			return false
		}
		for _, end := range []string{"'s", "’s"} {
			if strings.HasPrefix(rest[n:], end) && !joins(firstRune(rest[n+len(end):])) {
				written, n, said = written+"'s", n+len(end), said+ending(said, s.accent)
			}
		}
		s.add(item{Token: Token{Text: written, Kind: Word, Source: Given}, given: said}, n)
		return true
	}
	return false
}

// instead reads other words in place of the next n bytes.
func (s *scanner) instead(words string, n int) {
	sub := scanner{text: words, accent: s.accent}
	for sub.i < len(sub.text) {
		sub.step()
	}
	for _, t := range sub.out {
		t.Start, t.End = s.i, s.i+n
		s.out = append(s.out, t)
	}
	s.i += n
}
