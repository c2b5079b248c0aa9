package schema

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"

	"quern/engine/grammar"
	"quern/engine/grammar/regex"
)

// JSON writes a character in several ways: as it is, with a short escape, or as \u and
// four digits, two such for characters above U+FFFF. Each text stands for one
// character, so an expression over characters becomes one over their spellings, with
// its intersections and complements, character by character.
//
// Where a few characters are meant only the plain spelling is allowed, which is what
// models write: names and enumerated words stay one path. Where many are meant, and
// wherever something is forbidden, every spelling counts.

// manyChars is from where on a class has every spelling.
const manyChars = 1000

// texts remembers what the expressions of one schema became. Parts are shared, so
// each is turned into text once.
type texts struct {
	pure, usual, every, strings map[*node]*grammar.Regex
	classes                     map[string]*grammar.Regex // by their ranges
}

func newTexts() *texts {
	m := func() map[*node]*grammar.Regex { return map[*node]*grammar.Regex{} }
	return &texts{m(), m(), m(), m(), map[string]*grammar.Regex{}}
}

// once is make of n, remembered in m.
func once(m map[*node]*grammar.Regex, n *node, make func() *grammar.Regex) *grammar.Regex {
	r, ok := m[n]
	if !ok {
		r = make()
		m[n] = r
	}
	return r
}

// quoted are the JSON strings whose characters n matches.
func (t *texts) quoted(n *node) *grammar.Regex {
	if n == anything {
		return anyString
	}
	return once(t.strings, n, func() *grammar.Regex {
		return grammar.Concat(grammar.Lit(`"`), t.spell(n, false), grammar.Lit(`"`))
	})
}

// plain is what n matches, in UTF-8; of numbers the text itself.
func (t *texts) plain(n *node) *grammar.Regex {
	return once(t.pure, n, func() *grammar.Regex {
		switch n.op {
		case class:
			return grammar.Chars(n.set)
		case except:
			return grammar.And(anyText, grammar.Not(t.plain(n.list[0])))
		case pattern, table:
			return n.text
		case verbatim:
			return grammar.Lit(n.source)
		}
		return n.join(t.plain)
	})
}

var anyText = grammar.Star(grammar.AnyChar())

// spell returns the spellings of what n matches, without quotes; all of them if every.
func (t *texts) spell(n *node, every bool) *grammar.Regex {
	m := t.usual
	if every {
		m = t.every
	}
	return once(m, n, func() *grammar.Regex {
		switch {
		case n == anything:
			return anySpelling
		case n.op == class:
			return t.class(n.set, every)
		case n.op == verbatim:
			return t.word(n.source, every)
		case n.op == except:
			return grammar.And(anySpelling, grammar.Not(t.spell(n.list[0], true)))
		case n.op == pattern:
			r, err := regex.Parse(n.source, regex.Options{Search: true, Spell: func(s grammar.RuneSet) *grammar.Regex { return t.class(s, every) }})
			if err != nil {
				panic(err) // it was read before
			}
			return r
		}
		return n.join(func(m *node) *grammar.Regex { return t.spell(m, every) })
	})
}

// join is n of what its parts became.
func (n *node) join(part func(*node) *grammar.Regex) *grammar.Regex {
	list := make([]*grammar.Regex, len(n.list))
	for i, m := range n.list {
		list[i] = part(m)
	}
	switch n.op {
	case concat:
		return grammar.Concat(list...)
	case either:
		return grammar.Or(list...)
	case both:
		return grammar.And(list...)
	case repeat:
		return grammar.Repeat(list[0], n.min, n.max)
	}
	panic(fmt.Sprintf("schema: expression %d", n.op))
}

// anyString is any JSON string, with surrogates that have no partner too.
var anyString = func() *grammar.Regex {
	hex := grammar.Chars(grammar.OneOf("0123456789abcdefABCDEF"))
	return grammar.Concat(grammar.Lit(`"`), grammar.Star(grammar.Or(grammar.Chars(bare),
		grammar.Concat(grammar.Lit(`\`), grammar.Or(
			grammar.Chars(grammar.OneOf(`"\/bfnrt`)),
			grammar.Concat(grammar.Lit("u"), grammar.Repeat(hex, 4, 4)))))), grammar.Lit(`"`))
}()

var anySpelling = grammar.Star(spellClass(anyChar.set, true))

// short are the escapes of one letter.
var short = map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// bare are the characters that stand for themselves.
var bare = grammar.Runes(grammar.RuneRange{Lo: ' ', Hi: utf8.MaxRune}).Minus(grammar.OneOf(`"\`))

// class is spellClass, remembered: classes such as \p{L} have thousands of parts, and
// patterns name them again and again.
func (t *texts) class(set grammar.RuneSet, every bool) *grammar.Regex {
	var key []byte
	for _, r := range set {
		key = binary.BigEndian.AppendUint64(key, uint64(r.Lo)<<32|uint64(r.Hi))
	}
	k := string(strconv.AppendBool(key, every))
	r, ok := t.classes[k]
	if !ok {
		r = spellClass(set, every)
		t.classes[k] = r
	}
	return r
}

// word are the spellings of s.
func (t *texts) word(s string, every bool) *grammar.Regex {
	var parts []*grammar.Regex
	from := 0 // of what is spelled in one way
	for i, r := range s {
		if !every && r < 0x7f && bare.Contains(r) {
			continue
		}
		parts = append(parts, grammar.Lit(s[from:i]), t.class(grammar.RuneSet{{Lo: r, Hi: r}}, every))
		from = i + utf8.RuneLen(r)
	}
	return grammar.Concat(append(parts, grammar.Lit(s[from:]))...)
}

func spellClass(set grammar.RuneSet, every bool) *grammar.Regex {
	count := 0
	for _, r := range set {
		count += int(r.Hi-r.Lo) + 1
	}
	every = every || count >= manyChars
	var ways []*grammar.Regex
	if plain := set.Intersect(bare); len(plain) > 0 {
		ways = append(ways, grammar.Chars(plain))
	}
	escaped := set
	if !every {
		// Controls have no other way; beyond ASCII both are common.
		escaped = set.Intersect(grammar.Runes(grammar.RuneRange{Hi: 0x1f}, grammar.RuneRange{Lo: 0x7f, Hi: utf8.MaxRune}))
	}
	for r, s := range short {
		if !set.Contains(r) || !every && r == '/' {
			continue
		}
		ways = append(ways, grammar.Lit(s))
		if !every {
			escaped = escaped.Minus(grammar.Runes(grammar.RuneRange{Lo: r, Hi: r}))
		}
	}
	for _, r := range escaped {
		lo, hi := r.Lo, r.Hi
		if lo <= 0xffff {
			ways = append(ways, grammar.Concat(grammar.Lit(`\u`), hexRange(uint(lo), uint(min(hi, 0xffff)), 4)))
		}
		if hi > 0xffff {
			ways = append(ways, pairs(uint(max(lo, 0x10000)-0x10000), uint(hi-0x10000)))
		}
	}
	if len(ways) == 0 {
		return grammar.Nothing()
	}
	return grammar.Or(ways...)
}

// pairs are the surrogate pairs of characters 0x10000+lo to 0x10000+hi.
func pairs(lo, hi uint) *grammar.Regex {
	var ways []*grammar.Regex
	add := func(h0, h1, l0, l1 uint) {
		ways = append(ways, grammar.Concat(
			grammar.Lit(`\u`), hexRange(0xd800+h0, 0xd800+h1, 4),
			grammar.Lit(`\u`), hexRange(0xdc00+l0, 0xdc00+l1, 4)))
	}
	h0, h1, l0, l1 := lo>>10, hi>>10, lo&0x3ff, hi&0x3ff
	switch {
	case h0 == h1:
		add(h0, h0, l0, l1)
	default:
		if l0 > 0 {
			add(h0, h0, l0, 0x3ff)
			h0++
		}
		if l1 < 0x3ff {
			add(h1, h1, 0, l1)
			h1--
		}
		if h0 <= h1 {
			add(h0, h1, 0, 0x3ff)
		}
	}
	return grammar.Or(ways...)
}

// hexRange are the numbers from lo to hi in n hexadecimal digits.
func hexRange(lo, hi uint, n int) *grammar.Regex {
	if n == 1 {
		var digits string
		for d := lo; d <= hi; d++ {
			digits += fmt.Sprintf("%x", d)
			if d > 9 {
				digits += fmt.Sprintf("%X", d)
			}
		}
		return grammar.Chars(grammar.OneOf(digits))
	}
	shift := uint(4 * (n - 1))
	mask := uint(1)<<shift - 1
	var ways []*grammar.Regex
	add := func(d0, d1, l, h uint) {
		ways = append(ways, grammar.Concat(hexRange(d0, d1, 1), hexRange(l, h, n-1)))
	}
	d0, d1 := lo>>shift, hi>>shift
	if d0 == d1 {
		add(d0, d0, lo&mask, hi&mask)
		return grammar.Or(ways...)
	}
	if lo&mask != 0 {
		add(d0, d0, lo&mask, mask)
		d0++
	}
	if hi&mask != mask {
		add(d1, d1, 0, hi&mask)
		d1--
	}
	if d0 <= d1 {
		add(d0, d1, 0, mask)
	}
	return grammar.Or(ways...)
}
