package regex

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"quern/engine/grammar"
)

// Sets of the escapes, as ECMAScript defines them.
var sets = sync.OnceValue(func() map[rune]grammar.RuneSet {
	digits := grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'})
	word := grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'}, grammar.RuneRange{Lo: 'A', Hi: 'Z'}, grammar.RuneRange{Lo: 'a', Hi: 'z'}, grammar.RuneRange{Lo: '_', Hi: '_'})
	blank := grammar.OneOf("\t\n\v\f\r \u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF")
	return map[rune]grammar.RuneSet{
		'd': digits, 'D': digits.Negate(), 'w': word, 'W': word.Negate(), 's': blank, 'S': blank.Negate(),
	}
})

// dot is what a point stands for.
var dot = sync.OnceValue(func() grammar.RuneSet { return grammar.OneOf("\n\r\u2028\u2029").Negate() })

var controls = map[rune]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '0': 0}

// escape reads what follows a backslash at at: a set, of one character mostly. It
// fails with an error.
func (p *parser) escape(at int, class bool) (grammar.RuneSet, bool) {
	if !p.more() {
		p.fail(at, "a backslash at the end")
		return nil, false
	}
	r := p.next()
	if set, ok := sets()[r]; ok {
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
