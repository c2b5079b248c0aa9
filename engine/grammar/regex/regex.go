// Package regex reads regular expressions as ECMAScript writes them, with Unicode
// on: what JSON Schema calls a pattern. Groups do not capture, and lazy operators
// mean the same texts as greedy ones. Not supported, and refused by name: look-around,
// back references, word boundaries, modifiers, and anchors inside of repetitions.
package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"quern/engine/grammar"
)

// Options say how to read an expression.
type Options struct {
	// Search finds the expression anywhere in the text, unless ^ or $ hold it; else it
	// must match the whole text.
	Search bool
	// Spell returns how one character of a set is written in the text, when it is
	// quoted there; nil is UTF-8. It is never called with an empty set.
	Spell func(grammar.RuneSet) *grammar.Regex
}

// Limits of an expression.
const (
	MaxBytes = 1 << 16
	MaxDepth = 200 // groups in groups
)

// An Error is a mistake, or what is not supported.
type Error struct {
	Offset      int // in bytes
	Unsupported bool
	Message     string
}

func (e *Error) Error() string { return fmt.Sprintf("regex: at byte %d: %s", e.Offset, e.Message) }

// Parse returns the set of texts that the pattern matches.
func Parse(pattern string, o Options) (*grammar.Regex, error) {
	if len(pattern) > MaxBytes {
		return nil, &Error{0, false, fmt.Sprintf("%d bytes; at most %d are read", len(pattern), MaxBytes)}
	}
	if !utf8.ValidString(pattern) {
		return nil, &Error{0, false, "broken UTF-8"}
	}
	if o.Spell == nil {
		o.Spell = grammar.Chars
	}
	p := &parser{text: pattern, spell: o.Spell}
	m := p.alternatives(0)
	if p.err == nil && p.at < len(p.text) {
		p.fail(p.at, "a ) without its (")
	}
	if p.err != nil {
		return nil, p.err
	}
	var ways []*grammar.Regex
	any := grammar.Star(o.Spell(grammar.AllRunes()))
	for held, r := range m {
		if r == nil {
			continue
		}
		if o.Search && held&atStart == 0 {
			r = grammar.Concat(any, r)
		}
		if o.Search && held&atEnd == 0 {
			r = grammar.Concat(r, any)
		}
		ways = append(ways, r)
	}
	return grammar.Or(ways...), nil
}

// A match is what a part matches, by whether it must begin at the start of the
// text and finish at its end; nil is never.
type match [4]*grammar.Regex

const (
	atStart = 1
	atEnd   = 2
)

func just(r *grammar.Regex) match { return match{r} }

// then is a followed by b. What comes before the start or after the end is empty.
func then(a, b match) (m match) {
	for i, x := range a {
		for j, y := range b {
			switch {
			case x == nil || y == nil || j&atStart != 0 && !x.Nullable() || i&atEnd != 0 && !y.Nullable():
			case j&atStart != 0 && i&atEnd != 0:
				m[i|j] = either(m[i|j], grammar.Lit(""))
			case j&atStart != 0:
				m[i|j] = either(m[i|j], y)
			case i&atEnd != 0:
				m[i|j] = either(m[i|j], x)
			default:
				m[i|j] = either(m[i|j], grammar.Concat(x, y))
			}
		}
	}
	return m
}

func or(a, b match) (m match) {
	for i := range m {
		m[i] = either(a[i], b[i])
	}
	return m
}

func either(a, b *grammar.Regex) *grammar.Regex {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return grammar.Or(a, b)
}

// held reports whether m has an anchor.
func (m match) held() bool { return m[1] != nil || m[2] != nil || m[3] != nil }

// A parser reads by recursive descent. After a mistake it is at the end.
type parser struct {
	text  string
	at    int
	spell func(grammar.RuneSet) *grammar.Regex
	err   *Error
}

func (p *parser) fail(at int, format string, args ...any) {
	p.stop(&Error{at, false, fmt.Sprintf(format, args...)})
}

func (p *parser) refuse(at int, format string, args ...any) {
	p.stop(&Error{at, true, fmt.Sprintf(format, args...)})
}

func (p *parser) stop(err *Error) {
	if p.err == nil {
		p.err = err
		p.at = len(p.text)
	}
}

func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// next reads a character; there is one.
func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	return r
}

func (p *parser) more() bool { return p.at < len(p.text) }

func (p *parser) alternatives(depth int) match {
	m := p.sequence(depth)
	if p.more() && p.text[p.at] == '|' {
		list := []match{m}
		for p.take("|") {
			list = append(list, p.sequence(depth))
		}
		m = match{}
		for i := range m {
			var ways []*grammar.Regex
			for _, x := range list {
				if x[i] != nil {
					ways = append(ways, x[i])
				}
			}
			if len(ways) > 0 {
				m[i] = grammar.Or(ways...)
			}
		}
	}
	return m
}

func (p *parser) sequence(depth int) match {
	m := just(grammar.Lit(""))
	var parts []*grammar.Regex // in a row, none held
	flush := func() {
		if len(parts) > 0 {
			m = then(m, just(grammar.Concat(parts...)))
			parts = nil
		}
	}
	for p.more() && p.text[p.at] != '|' && p.text[p.at] != ')' {
		x := p.repeated(depth)
		if p.err != nil {
			return m
		}
		if !x.held() && x[0] != nil {
			parts = append(parts, x[0])
			continue
		}
		flush()
		m = then(m, x)
	}
	flush()
	return m
}

func (p *parser) repeated(depth int) match {
	at := p.at
	m := p.atom(depth)
	lo, hi, ok := p.operator()
	if !ok || p.err != nil {
		return m
	}
	if !m.held() {
		if m[0] == nil {
			m[0] = grammar.Nothing()
		}
		m = just(grammar.Repeat(m[0], lo, hi))
	} else if lo == 0 && hi == 1 {
		m = or(just(grammar.Lit("")), m)
	} else {
		p.refuse(at, "an anchor inside of a repetition is not supported")
	}
	if _, _, again := p.operator(); again {
		p.fail(p.at-1, "nothing to repeat before a second operator")
	}
	return m
}

// operator reads * + ? {n} {n,} {n,m}, lazy or not.
func (p *parser) operator() (lo, hi int, ok bool) {
	switch {
	case p.take("*"):
		lo, hi = 0, grammar.Unbounded
	case p.take("+"):
		lo, hi = 1, grammar.Unbounded
	case p.take("?"):
		lo, hi = 0, 1
	default:
		var n int
		at := p.at
		if lo, hi, n = braces(p.text[p.at:]); n == 0 {
			return 0, 0, false
		}
		p.at += n
		if hi != grammar.Unbounded && hi < lo {
			p.fail(at, "%s ends before it begins", p.text[at:p.at])
		}
	}
	p.take("?")
	return lo, hi, true
}

// maxBraces bounds the search for the end of an operator, else many braces would
// take quadratic time. No number of use is so long.
const maxBraces = 64

// braces reads {n}, {n,} or {n,m} from the beginning of s, of n bytes; other braces
// are characters.
func braces(s string) (lo, hi, n int) {
	if !strings.HasPrefix(s, "{") {
		return 0, 0, 0
	}
	end := strings.IndexByte(s[:min(len(s), maxBraces)], '}')
	if end < 0 {
		return 0, 0, 0
	}
	first, last, comma := strings.Cut(s[1:end], ",")
	lo, ok := number(first)
	if !ok {
		return 0, 0, 0
	}
	switch {
	case !comma:
		hi = lo
	case last == "":
		hi = grammar.Unbounded
	default:
		if hi, ok = number(last); !ok {
			return 0, 0, 0
		}
	}
	return lo, hi, end + 1
}

// number reads digits; what is beyond any text stays so.
func number(s string) (int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	if s = strings.TrimLeft(s, "0"); len(s) > 9 {
		return 1 << 30, true
	}
	n, _ := strconv.Atoi("0" + s)
	return n, true
}

func (p *parser) one(set grammar.RuneSet) match {
	if len(set) == 0 {
		return just(grammar.Nothing())
	}
	return just(p.spell(set))
}

func single(r rune) grammar.RuneSet { return grammar.Runes(grammar.RuneRange{Lo: r, Hi: r}) }

func (p *parser) atom(depth int) match {
	at := p.at
	if _, _, n := braces(p.text[at:]); n > 0 {
		p.fail(at, "nothing to repeat before %q", p.text[at:at+n])
		return match{}
	}
	switch r := p.next(); r {
	case '^':
		return match{atStart: grammar.Lit("")}
	case '$':
		return match{atEnd: grammar.Lit("")}
	case '*', '+', '?':
		p.fail(at, "nothing to repeat before %q", string(r))
	case '.':
		return p.one(dot())
	case '[':
		return p.one(p.class(at))
	case '(':
		return p.group(at, depth)
	case '\\':
		set, ok := p.escape(at, false)
		if ok {
			return p.one(set)
		}
	default:
		return p.one(single(r))
	}
	return match{}
}

// unsupported are the groups that are refused.
var unsupported = []struct{ begin, what string }{
	{"?=", "look-ahead (?=…)"}, {"?!", "negative look-ahead (?!…)"},
	{"?<=", "look-behind (?<=…)"}, {"?<!", "negative look-behind (?<!…)"},
	{"?P", "the group (?P…) of Python"}, {"?>", "the atomic group (?>…)"}, {"?#", "the comment (?#…)"},
}

func (p *parser) group(at, depth int) match {
	if depth >= MaxDepth {
		p.fail(at, "more than %d groups in groups", MaxDepth)
		return match{}
	}
	for _, u := range unsupported {
		if strings.HasPrefix(p.text[p.at:], u.begin) {
			p.refuse(at, "%s is not supported", u.what)
			return match{}
		}
	}
	switch {
	case p.take("?:"):
	case p.take("?<"):
		n := strings.IndexByte(p.text[p.at:], '>')
		if n <= 0 || strings.ContainsAny(p.text[p.at:p.at+n], "()[]{}|\\ ") {
			p.fail(at, "want a name and > after (?<")
			return match{}
		}
		p.at += n + 1
	case p.take("?"):
		p.refuse(at, "modifiers of a group, as (?i:…), are not supported")
		return match{}
	}
	m := p.alternatives(depth + 1)
	if p.err == nil && !p.take(")") {
		p.fail(at, "a ( without its )")
	}
	return m
}
