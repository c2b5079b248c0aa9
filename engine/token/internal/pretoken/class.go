package pretoken

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// A class is the set of properties of a character that pre-tokenizers ask
// about, one bit each.
type class uint16

const (
	upper      class = 1 << iota // Lu, Lt
	lower                        // Ll
	caseless                     // Lm, Lo
	Mark                         // M
	digit                        // Nd
	numeral                      // Nl, No
	Punct                        // P
	Symbol                       // S
	Space                        // White_Space
	Control                      // Cc, Cf, Co, Cs
	han                          // script Han
	joiner                       // Pc
	alphabetic                   // what Unicode counts to words beside letters, marks, digits and joiners

	letter   = upper | lower | caseless
	number   = digit | numeral
	WordChar = letter | Mark | digit | joiner | alphabetic // \w of Unicode Technical Standard #18, annex C
)

// A Table holds the class of every character in two levels: equal pages
// of 256 characters are stored once.
type Table struct {
	ascii [utf8.RuneSelf]class
	index [(unicode.MaxRune + 1) / 256]uint8
	pages [][256]class
}

// Classes builds the table on first use, in about 5 ms.
var Classes = sync.OnceValue(func() *Table {
	flat := make([]class, unicode.MaxRune+1)
	for _, x := range []struct {
		c  class
		in []*unicode.RangeTable
	}{
		{upper, []*unicode.RangeTable{unicode.Lu, unicode.Lt}},
		{lower, []*unicode.RangeTable{unicode.Ll}},
		{caseless, []*unicode.RangeTable{unicode.Lm, unicode.Lo}},
		{Mark, []*unicode.RangeTable{unicode.M}},
		{digit, []*unicode.RangeTable{unicode.Nd}},
		{numeral, []*unicode.RangeTable{unicode.Nl, unicode.No}},
		{Punct, []*unicode.RangeTable{unicode.P}},
		{Symbol, []*unicode.RangeTable{unicode.S}},
		{Space, []*unicode.RangeTable{unicode.White_Space}},
		{Control, []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs}},
		{han, []*unicode.RangeTable{unicode.Han}},
		{joiner, []*unicode.RangeTable{unicode.Pc}},
		{alphabetic, []*unicode.RangeTable{unicode.Nl, unicode.Other_Alphabetic, unicode.Join_Control}},
	} {
		for _, t := range x.in {
			for _, r := range t.R16 {
				for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
					flat[c] |= x.c
				}
			}
			for _, r := range t.R32 {
				for c := r.Lo; c <= r.Hi; c += r.Stride {
					flat[c] |= x.c
				}
			}
		}
	}
	t := &Table{}
	copy(t.ascii[:], flat)
	seen := make(map[[256]class]uint8)
	for i := range t.index {
		page := [256]class(flat[i*256:])
		at, ok := seen[page]
		if !ok {
			at = uint8(len(t.pages))
			seen[page] = at
			t.pages = append(t.pages, page)
		}
		t.index[i] = at
	}
	return t
})

func (t *Table) Of(r rune) class {
	return t.pages[t.index[uint32(r)>>8]][uint8(r)]
}

// at returns the class and width of the character at s[i:], which is not
// empty. A byte that is no UTF-8 counts as U+FFFD.
func (t *Table) at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return t.ascii[b], 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return t.Of(r), w
}

// Peek is at for callers that need no width; it returns 0 at the end of s.
func (t *Table) Peek(s string, i int) class {
	if i >= len(s) {
		return 0
	}
	c, _ := t.at(s, i)
	return c
}

// A set is the characters that have a property of in and none of out.
type set struct{ in, out class }

func (x set) has(c class) bool { return c&x.in != 0 && c&x.out == 0 }

// run returns the end of the longest run of x that starts at s[i:].
func (t *Table) run(s string, i int, x set) int {
	for i < len(s) {
		c, w := t.at(s, i)
		if !x.has(c) {
			break
		}
		i += w
	}
	return i
}

// runOut returns the end of the longest run without x that starts at s[i:].
func (t *Table) runOut(s string, i int, x class) int {
	for i < len(s) {
		c, w := t.at(s, i)
		if c&x != 0 {
			break
		}
		i += w
	}
	return i
}

// group is run with at most n characters, or any number if n is 0.
func (t *Table) group(s string, i int, x set, n int) int {
	if n == 0 {
		return t.run(s, i, x)
	}
	for ; n > 0 && i < len(s); n-- {
		c, w := t.at(s, i)
		if !x.has(c) {
			break
		}
		i += w
	}
	return i
}
