package g2p

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"
)

// A Reading says how a text is read; the zero value is US English.
type Reading struct {
	Accent   Accent
	Lexicons []*UserLexicon // the first that has a word decides; nil ones are passed over
	Marks    []Mark         // in order of Start; those that contain others come first
}

// A Mark says how a stretch of a text is read. What it does not say is as ever.
type Mark struct {
	Start, End int // bytes of the text

	// At most one of these; such marks do not overlap.
	Pause    time.Duration // a silence in its place
	Phonemes string        // in Kokoro's symbols
	As       As
	Format   string // of a date: mdy and the like

	// These hold for all words in the stretch, in place of a mark around it.
	Stress   float64 // steps to add: -1, 0.5, 1
	Delivery Delivery
}

// A Delivery is how words are spoken; the zero value is as the voice does.
type Delivery struct {
	Rate   float64 // times the tempo; 0 is 1
	Pitch  float64 // semitones up
	Volume float64 // decibels up; -96 and less are silence
}

// As is what a text is to be read as.
type As string

// What a text may be read as.
const (
	Plain      As = ""
	Characters As = "characters" // every letter, digit and sign by its name
	Digits     As = "digits"
	Cardinal   As = "cardinal"
	Ordinal    As = "ordinal"
	Date       As = "date"
	Time       As = "time"
	Telephone  As = "telephone"
	Fraction   As = "fraction"
)

// hard reports whether nothing is read across the mark's borders.
func (m *Mark) hard() bool { return m.Phonemes != "" || m.As != Plain || m.Pause > 0 }

// Read returns the tokens of text, read as r says, until ctx ends.
func (g *G2P) Read(ctx context.Context, text string, r Reading) ([]Token, error) {
	s := scanner{text: text, accent: r.Accent, capitals: allCapitals(text), known: func(w string) bool {
		_, from := g.known(w, "", r.Accent)
		return from == Lexicon
	}}
	for _, l := range r.Lexicons {
		if l != nil {
			s.lexicons = append(s.lexicons, l)
		}
	}
	for i := range r.Marks {
		m := &r.Marks[i]
		if !m.hard() {
			continue
		}
		s.text = text[:m.Start]
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		s.text = text
		s.marked(m)
		s.chunkEnd, s.links = s.i, nil
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	for i := range r.Marks {
		if m := &r.Marks[i]; m.Start < m.End {
			from := sort.Search(len(s.out), func(k int) bool { return s.out[k].Start >= m.Start })
			for k := from; k < len(s.out) && s.out[k].Start < m.End; k++ {
				s.out[k].shift, s.out[k].Delivery = m.Stress, m.Delivery
			}
		}
	}
	if s.refused != nil {
		return nil, s.refused
	}
	if s.replaced > maxReplaced {
		return nil, fmt.Errorf("%w: the aliases of the lexicon make more than %d bytes of this text", ErrFormat, maxReplaced)
	}
	p := speaker{g: g, accent: r.Accent, toks: s.out}
	return p.run(ctx)
}

// maxReplaced is the most that aliases of a lexicon may put into one text, in bytes.
const maxReplaced = 1 << 18

// marked reads the stretch of a hard mark.
func (s *scanner) marked(m *Mark) {
	n := m.End - m.Start
	text := s.text[m.Start:m.End]
	switch {
	case m.Pause > 0:
		s.space()
		s.add(item{Token: Token{Kind: Pause, Pause: min(m.Pause, time.Minute)}}, n)
		return
	case m.Phonemes != "":
		s.add(item{Token: Token{Text: text, Kind: Word}, given: m.Phonemes}, n)
		return
	}
	if words := readAs(m.As, m.Format, strings.TrimSpace(text), s.accent); len(words) > 0 {
		s.put(words, n)
		return
	}
	s.instead(text, n)
}

// readAs returns the words of a text that is a number or a row of characters, or
// nil if it is none.
func readAs(as As, format, text string, accent Accent) []string {
	sign, number := "", text
	if rest := strings.TrimLeft(text, "-−"); rest != text {
		sign, number = "-", rest
	}
	whole := strings.ReplaceAll(number, ",", "")
	isWhole := whole != "" && digitsOf(whole) == whole
	switch as {
	case Characters:
		return characters(text)
	case Digits, Telephone:
		return inGroups(text, " -.()/")
	case Cardinal:
		if isWhole {
			return join(minus(sign), cardinal(strings.TrimLeft(whole[:len(whole)-1], "0")+whole[len(whole)-1:], accent))
		}
	case Ordinal:
		if n := romanNumber(text); n > 0 {
			whole, isWhole = decimalOf(n), true
		}
		whole = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(whole, "st"), "nd"), "rd"), "th")
		if whole != "" && digitsOf(whole) == whole {
			return join(minus(sign), ordinal(cardinal(whole, accent)))
		}
	case Fraction:
		if mixed, rest, ok := strings.Cut(strings.ReplaceAll(number, "+", " "), " "); ok {
			n, d, _ := strings.Cut(strings.TrimSpace(rest), "/")
			return fraction(mixed, n, d, accent)
		}
		if n, d, ok := strings.Cut(number, "/"); ok && digitsOf(n) == n && digitsOf(d) == d && n != "" && d != "" && len(d) < 9 {
			return join(minus(sign), fraction("", n, d, accent))
		}
	case Date:
		return dateAs(format, text, accent)
	}
	return nil
}

// characters names every character: letters, digits and signs.
func characters(text string) []string {
	var out []string
	for _, r := range text {
		switch {
		case r < 0x80 && isDigit(byte(r)):
			out = append(out, ones[r-'0'])
		case r < 0x80 && isLetter(byte(r)):
			out = append(out, "!"+strings.ToUpper(string(r)))
		case r < 0x80 && namedSigns[byte(r)] != "":
			out = append(out, strings.Fields(namedSigns[byte(r)])...)
		case characterNames[r] != "":
			out = append(out, strings.Fields(characterNames[r])...)
		case signs[r] != "":
			out = append(out, strings.Fields(signs[r])...)
		default:
			if f := fold(string(r)); f != "" && isLetter(f[0]) {
				out = append(out, "!"+strings.ToUpper(f))
			}
		}
	}
	return out
}

// characterNames are signs that are not said in a text.
var characterNames = map[rune]string{',': "comma", ';': "semicolon", '!': "exclamation mark", '"': "quote", '\'': "apostrophe", '(': "open parenthesis", ')': "close parenthesis", '[': "open bracket", ']': "close bracket",
	'{': "open brace", '}': "close brace", '|': "bar", '`': "backtick", ' ': ""}

// dateAs reads a date whose parts stand in the order format says.
func dateAs(format, text string, accent Accent) []string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/-. ,", r) })
	if format == "" {
		format = map[Accent]string{US: "mdy", British: "dmy"}[accent]
		switch {
		case len(parts) > 0 && len(parts[0]) == 4 && digitsOf(parts[0]) == parts[0]:
			format = "ymd"[:min(3, len(parts))]
		case len(parts) == 2 && len(parts[1]) == 4:
			format = "my"
		case len(parts) == 2:
			format = format[:2]
		case len(parts) == 1 && len(parts[0]) == 8 && digitsOf(parts[0]) == parts[0]:
			format, parts = "ymd", []string{text[:4], text[4:6], text[6:]}
		}
	}
	if len(parts) != len(format) {
		return nil
	}
	var y, m, d string
	for i, c := range format {
		switch c {
		case 'y':
			y = parts[i]
		case 'm':
			m = month(parts[i])
			if m == "" {
				return nil
			}
		case 'd':
			if d = digitsOf(parts[i]); atoi(d) < 1 || atoi(d) > 31 || len(d) > 2 {
				return nil
			}
		}
	}
	switch {
	case y != "" && (digitsOf(y) != y || len(y) != 4 && len(y) != 2):
		return nil
	case d != "" && m != "":
		return date(m, d, y, accent)
	case m != "" && y != "":
		return append([]string{m}, year(y, accent)...)
	case m != "":
		return []string{m}
	case d != "":
		return ordinal(cardinal(strings.TrimLeft(d, "0"), US))
	case y != "":
		return year(y, accent)
	}
	return nil
}
