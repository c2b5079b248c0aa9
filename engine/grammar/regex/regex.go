// Package regex reads regular expressions as ECMAScript writes them, with Unicode
// on: what JSON Schema calls a pattern. Groups do not capture, and lazy operators
// mean the same texts as greedy ones. Not supported, and refused by name: look-around,
// back references, word boundaries, modifiers, and anchors inside of repetitions.
package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
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
			if x == nil || y == nil || j&atStart != 0 && !x.Nullable() || i&atEnd != 0 && !y.Nullable() {
				continue
			}
			if j&atStart != 0 {
				x = grammar.Lit("")
			}
			r := x
			if i&atEnd == 0 {
				r = grammar.Concat(x, y)
			}
			m[i|j] = either(m[i|j], r)
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
		return p.one(dot)
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

// Sets of the escapes, as ECMAScript defines them.
var (
	digits = grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'})
	word   = grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'}, grammar.RuneRange{Lo: 'A', Hi: 'Z'}, grammar.RuneRange{Lo: 'a', Hi: 'z'}, grammar.RuneRange{Lo: '_', Hi: '_'})
	blank  = grammar.OneOf("\t\n\v\f\r \u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF")
	dot    = grammar.OneOf("\n\r\u2028\u2029").Negate()
)

var sets = map[rune]grammar.RuneSet{
	'd': digits, 'D': digits.Negate(), 'w': word, 'W': word.Negate(), 's': blank, 'S': blank.Negate(),
}

var controls = map[rune]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '0': 0}

// escape reads what follows a backslash at at: a set, of one character mostly. It
// fails with an error.
func (p *parser) escape(at int, class bool) (grammar.RuneSet, bool) {
	if !p.more() {
		p.fail(at, "a backslash at the end")
		return nil, false
	}
	r := p.next()
	if set, ok := sets[r]; ok {
		return set, true
	}
	follows := byte(0)
	if p.more() {
		follows = p.text[p.at]
	}
	switch {
	case r == '0' && '0' <= follows && follows <= '9' || '1' <= r && r <= '9' && class:
		p.refuse(at, "octal escapes are not supported; write \\xHH")
	case '1' <= r && r <= '9', r == 'k':
		p.refuse(at, "back references (\\%c) are not supported", r)
	case r == 'b' && class:
		return single('\b'), true
	case r == 'b' || r == 'B':
		p.refuse(at, "word boundaries (\\%c) are not supported", r)
	case r == 'p' || r == 'P':
		return p.property(at, r == 'P')
	case r == 'c':
		if 'a' <= follows|0x20 && follows|0x20 <= 'z' {
			p.at++
			return single(rune(follows & 31)), true
		}
		p.fail(at, "want a letter after \\c")
	case r == 'x' || r == 'u':
		return p.code(at, r, class)
	default:
		if c, ok := controls[r]; ok {
			return single(c), true
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			p.fail(at, "unknown escape \\%c", r)
			break
		}
		return single(r), true
	}
	return nil, false
}

// code reads the rest of \xHH, \uHHHH or \u{H…}, or of two \u that are surrogates. In
// a class a surrogate may stand alone, mostly to be excluded: no text has one.
func (p *parser) code(at int, kind rune, class bool) (grammar.RuneSet, bool) {
	var hex string
	if kind == 'u' && p.take("{") {
		n := strings.IndexByte(p.text[p.at:], '}')
		if n >= 0 {
			hex = p.text[p.at : p.at+n]
			p.at += n + 1
		}
	} else {
		n := 4
		if kind == 'x' {
			n = 2
		}
		if p.at+n <= len(p.text) {
			hex = p.text[p.at : p.at+n]
			p.at += n
		}
	}
	v, ok := code(hex)
	if !ok {
		p.fail(at, "want \\xHH, \\uHHHH or \\u{H…} with hexadecimal digits")
		return nil, false
	}
	if 0xD800 <= v && v < 0xDC00 && strings.HasPrefix(p.text[p.at:], `\u`) && p.at+6 <= len(p.text) {
		if low, ok := code(p.text[p.at+2 : p.at+6]); ok && 0xDC00 <= low && low < 0xE000 {
			p.at += 6
			v = 0x10000 + (v-0xD800)<<10 + (low - 0xDC00)
		}
	}
	if class && v <= utf8.MaxRune {
		return grammar.RuneSet{{Lo: v, Hi: v}}, true
	}
	if !utf8.ValidRune(v) {
		p.fail(at, "\\u%04X alone is no character", v)
		return nil, false
	}
	return single(v), true
}

func code(hex string) (rune, bool) {
	if hex == "" || strings.Trim(hex, "0123456789abcdefABCDEF") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(hex, 16, 31)
	return rune(v), err == nil
}

// property reads the rest of \p{…}: categories, scripts, Any and ASCII.
func (p *parser) property(at int, negated bool) (grammar.RuneSet, bool) {
	n := strings.IndexByte(p.text[p.at:], '}')
	if n < 0 || !p.take("{") {
		p.fail(at, "want \\p{…}")
		return nil, false
	}
	name := p.text[p.at : p.at+n-1]
	p.at += n
	kind, value, ok := strings.Cut(name, "=")
	var table *unicode.RangeTable
	switch {
	case !ok:
		table = category(name)
	case kind == "General_Category" || kind == "gc":
		table = category(value)
	case kind == "Script" || kind == "sc":
		table = unicode.Scripts[value]
	}
	var set grammar.RuneSet
	switch {
	case table != nil:
		set = ofTable(table)
	case name == "Any":
		set = grammar.AllRunes()
	case name == "ASCII":
		set = grammar.Runes(grammar.RuneRange{Lo: 0, Hi: 0x7F})
	default:
		p.refuse(at, "the property %q is not supported; categories and scripts are", name)
		return nil, false
	}
	if negated {
		set = set.Negate()
	}
	return set, true
}

func category(name string) *unicode.RangeTable {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	return unicode.Categories[name]
}

func ofTable(t *unicode.RangeTable) grammar.RuneSet {
	var ranges []grammar.RuneRange
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			ranges = append(ranges, grammar.RuneRange{Lo: lo, Hi: hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			ranges = append(ranges, grammar.RuneRange{Lo: r, Hi: r})
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return grammar.Runes(ranges...)
}

// class reads the rest of a character class.
func (p *parser) class(at int) grammar.RuneSet {
	negated := p.take("^")
	var ranges []grammar.RuneRange
	for !p.take("]") {
		if !p.more() {
			p.fail(at, "a [ without its ]")
			return nil
		}
		from := p.at
		lo := p.member()
		if p.at+1 < len(p.text) && p.text[p.at] == '-' && p.text[p.at+1] != ']' && isOne(lo) {
			p.at++
			if hi := p.member(); isOne(hi) {
				if hi[0].Lo < lo[0].Lo {
					p.fail(from, "the range %s ends before it begins", p.text[from:p.at])
					return nil
				}
				lo = grammar.RuneSet{{Lo: lo[0].Lo, Hi: hi[0].Hi}}
			} else {
				ranges = append(append(ranges, hi...), grammar.RuneRange{Lo: '-', Hi: '-'})
			}
		}
		if p.err != nil {
			return nil
		}
		ranges = append(ranges, lo...)
	}
	set := grammar.Runes(ranges...)
	if negated {
		set = set.Negate()
	}
	return set
}

func isOne(s grammar.RuneSet) bool { return len(s) == 1 && s[0].Lo == s[0].Hi }

// member reads a character of a class, or a set that an escape stands for.
func (p *parser) member() grammar.RuneSet {
	at := p.at
	r := p.next()
	if r != '\\' {
		return single(r)
	}
	set, _ := p.escape(at, true)
	return set
}
