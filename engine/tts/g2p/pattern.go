package g2p

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A pattern is something that is not said as it is written. Patterns are tried
// in order where a number or a word may begin; what matches must not run into a
// letter or a digit. say gets the groups and returns the words, or nil to decline.
type pattern struct {
	re  func() *expression
	say func(m []string, s *scanner) []string
}

// longest is how far ahead a pattern may look; it bounds the time of each try.
const longest = 120

// lazy compiles an expression when it is first used: who never speaks starts without them.
// It is not inlined: its hundreds of calls would each have code of their own.
//
//go:noinline
func lazy(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// Numbers as they are written: whole, with thousands (or lakhs) between commas, and with a
// fraction. space is what may stand between a number and its unit.
const (
	number  = `\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+`
	numeral = `\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+`
	yearly  = `(?:1\d|2[01])\d\d`
	space   = `[ \x{a0}\x{202f}]`
)

// numbers are the patterns of what begins with a digit, a sign or a currency.
// Longer and stricter forms stand before those they contain.
var numbers = slices.Concat([]pattern{docket}, calendar, codes, money, measures, arithmetic, []pattern{
	{re(`(` + number + `)(?:st|nd|rd|th|ST|ND|RD|TH)`), func(m []string, s *scanner) []string { return ordinal(cardinal(m[1], s.accent)) }},
	// 2d Cir.
	{re(`(\d{0,2}[23])d`), func(m []string, s *scanner) []string {
		if behindOrdinals[strings.ToLower(s.nextWord())] == "" || !unicode.IsUpper(firstRune(s.nextWord())) {
			return nil
		}
		return ordinal(cardinal(m[1], s.accent))
	}},
	// 1 000 000, 1.234.567,89
	{re(`\d{1,3}(?:[\x{a0}\x{202f}\x{2009}]\d{3})+|\d{1,3}(?: \d{3}){2,}`), func(m []string, s *scanner) []string {
		return cardinal(digitsOf(m[0]), s.accent)
	}},
	// 2200 E. Colorado Blvd.
	{re(`[1-9]\d{3}`), func(m []string, s *scanner) []string {
		if !street4().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+48)]) {
			return nil
		}
		if m[0][1] != '0' && m[0][2:] == "00" {
			return append(below(atoi(m[0][:2]), false), "hundred")
		}
		return inPairs(m[0], s.accent)
	}},
	{re(yearly), func(m []string, s *scanner) []string { return year(m[0], s.accent) }},
	{re(`(\d+)\.(\d+)`), func(m []string, s *scanner) []string {
		if s.released() {
			return between(m[0], "point", s.accent)
		}
		return nil
	}},
	{re(numeral), func(m []string, s *scanner) []string { return decimal(m[0], s.accent) }},
})

// street4 is the name of a street behind the number of a house.
var street4 = lazy(`^ (?:[NSEW]\.? |[NS]\.?[EW]\.? )?(?:[A-Z0-9][A-Za-z0-9]+ ){1,3}(?:St|Ave|Rd|Blvd|Dr|Ln|Ct|Pl|Pkwy|Hwy|Way|Street|Avenue|Road|Drive|Lane|Boulevard|Court|Place|Parkway)\b`)

// released reports whether the name of a program stands before, and a comparison between: npm >= 9.10.
func (s *scanner) released() bool {
	if b := s.text[max(0, s.i-2):s.i]; len(b) == 2 && (b[1] == ':' || b[1] == '@') && isLetter(b[0]) {
		return true // python:3.12-slim
	}
	k := 1
	for k < 8 && compared[s.wordBack(k)] {
		k++
	}
	return releases[s.wordBack(k)]
}

var compared = set("greater less than or equal to equals")

// releases are words whose numbers are versions: 3.12 is three point twelve.
var releases = set(`version release python go java node php ruby ubuntu rust swift kotlin django rails kubernetes postgres postgresql js npm numpy pandas torch pytorch tensorflow macos android ios firefox chrome safari gcc clang cmake linux kernel`)

// named are patterns that begin with a letter.
var named = slices.Concat([]pattern{applied}, notation, namedCodes, namedDates, namedMoney, []pattern{
	{re(`([A-Z]{1,3})&([A-Z]{1,3})`), func(m []string, s *scanner) []string { return []string{"!" + m[1], "and", "!" + m[2]} }},
})

// matched tries patterns where the scanner stands, and puts what the first says.
func (s *scanner) matched(patterns []pattern, rest string) bool {
	var v view
	v.look(rest)
	for _, p := range patterns {
		m := p.re().match(&v)
		if m == nil || len(m[0]) == len(v.text) && len(v.text) < len(rest) || joins(firstRune(rest[len(m[0]):])) {
			continue
		}
		glued := joins(s.before()) || s.hyphened() || isLetter(rest[0]) && !strings.ContainsAny(m[0], " $")
		s.matchEnd = s.i + len(m[0]) // say may take more, or less
		if words := p.say(m, s); len(words) > 0 {
			s.put(words, s.matchEnd-s.i)
			s.possessive()
			s.operator(!glued) // the dash of x86-64 is no range
			return true
		}
	}
	return false
}

// possessive adds 's to the word before it, which was written otherwise: U2's, the A380's wings.
func (s *scanner) possessive() {
	if rest := s.text[s.i:]; possessed(rest) {
		n := strings.IndexByte(rest, 's') + 1
		last := &s.out[len(s.out)-1]
		last.Text, last.End = last.Text+"'s", last.End+n
		s.i += n
	}
}

// possessed reports whether rest begins with an 's that ends a word.
func possessed(rest string) bool {
	for _, end := range []string{"'s", "’s"} {
		if after, ok := strings.CutPrefix(rest, end); ok {
			return !joins(firstRune(after))
		}
	}
	return false
}

// lastWord is the word read last, in small letters, "" if something else was.
func (s *scanner) lastWord() string { return s.wordBack(1) }

// label is the word read last, before a colon too: PIN: 0742.
func (s *scanner) label() string {
	if n := len(s.out); n > 0 && s.out[n-1].Phonemes == ":" {
		return s.wordBack(2)
	}
	return s.lastWord()
}

// wordBack is the k-th item from the end, in small letters, if it is a word.
func (s *scanner) wordBack(k int) string {
	n := len(s.out)
	if n < k || s.out[n-k].Kind != Word {
		return ""
	}
	return strings.ToLower(s.out[n-k].Text)
}

// nextWord is the word behind a match, without what stands between but a space.
func (s *scanner) nextWord() string {
	rest := strings.TrimPrefix(s.text[s.matchEnd:min(len(s.text), s.matchEnd+40)], " ")
	return rest[:wordLen(rest)]
}

// sourceBack is what the k-th item from the end was read from, "" if that was no word.
func (s *scanner) sourceBack(k int) string {
	n := len(s.out)
	if n < k || s.out[n-k].Kind != Word {
		return ""
	}
	return s.text[s.out[n-k].Start:s.out[n-k].End]
}

// lastSource is what the last item was read from, "" if that was no word.
func (s *scanner) lastSource() string { return s.sourceBack(1) }

// afterOrdinal reports whether a number such as 5th was read last.
func (s *scanner) afterOrdinal() bool {
	t := s.lastSource()
	if strings.HasSuffix(t, "2d") || strings.HasSuffix(t, "3d") {
		return true
	}
	return len(t) > 2 && isDigit(t[0]) && isDigit(t[len(t)-3]) && strings.Contains(" st nd rd th ", " "+strings.ToLower(t[len(t)-2:])+" ")
}

// describes reports whether a quantity stands between an article and a noun: a
// $5 bill, a 12-inch ruler. Its name is singular then.
func (s *scanner) describes() bool {
	if n := len(s.out); n > 1 && s.out[n-1].Phonemes == "(" && strings.HasPrefix(s.text[s.matchEnd:], ") ") {
		count := s.text[s.out[n-2].Start:s.out[n-2].End]
		return digitsOf(count) == count && unicode.IsLower(firstRune(s.text[s.matchEnd+2:])) // 2 (15 oz) cans
	}
	if before := s.lastWord(); before != "a" && before != "an" {
		return false
	}
	if rest := s.text[s.matchEnd:]; len(rest) > 2 && rest[0] == '-' && isLetter(rest[1]) {
		return true // a €30-a-night room, a $10-off coupon
	} else if !strings.HasPrefix(rest, " ") {
		return false
	} else if len(rest) > 1 && isDigit(rest[1]) {
		return true // a 27" 1440p monitor
	}
	w := s.nextWord()
	if len(w) > 1 && unicode.IsUpper(firstRune(w)) && w != "USD" && w != "US" {
		return true // a 512 GB SSD, a $30M Series B
	}
	return w != "" && unicode.IsLower(firstRune(w)) && !preps[w] && w != "and" && w != "or" && w != "is" && w != "per"
}

// named1 is the name of n things: of one, or where they describe a noun, the
// singular.
func (s *scanner) named1(n, singular, plural string) string {
	if s.describes() {
		return singular
	}
	return one(n, singular, plural)
}

func join(parts ...[]string) []string { return slices.Concat(parts...) }

func minus(sign string) []string {
	if sign == "" {
		return nil
	}
	return []string{"minus"}
}

func one(n, singular, plural string) string {
	if n == "1" {
		return singular
	}
	return plural
}

// between says numbers between dots.
func between(s, dot string, accent Accent) []string {
	var out []string
	for i, part := range strings.Split(s, ".") {
		if i > 0 {
			out = append(out, dot)
		}
		out = append(out, cardinal(part, accent)...)
	}
	return out
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}
