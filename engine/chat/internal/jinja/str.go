package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// An Origin says where a byte of text came from. Trusted text is the
// template's own and carries no mark.
type Origin uint8

const (
	trusted Origin = iota
	// Outside is text from a client.
	Outside
	// Final is client text whose place in the output the caller wants to find
	// again, because generation continues from its end.
	Final
)

// A Span is a run of bytes with one origin.
type Span struct {
	From, To int // byte offsets, From < To
	Origin   Origin
}

// A Str is Python's str, in UTF-8, with marks on the bytes that came from
// outside (see the package comment).
type Str struct {
	s      string
	marks  []Span // sorted, disjoint; never written after the Str is made
	markup bool   // made by escape or safe: escapes what is added to it
}

// Text returns a string of the template's own or of the program's.
func Text(s string) Str { return Str{s: s} }

// TextFrom returns a string that came from origin.
func TextFrom(s string, origin Origin) Str {
	s = strings.ToValidUTF8(s, "\ufffd")
	if s == "" {
		return Str{}
	}
	return Str{s: s, marks: []Span{{0, len(s), origin}}}
}

func (s Str) String() string { return s.s }

// Marks returns the runs of s that came from outside, in order. The caller
// must not change them.
func (s Str) Marks() []Span { return s.marks }

// Head returns the first n bytes of s.
func (s Str) Head(n int) Str { return s.sub(0, n) }

// sub is s[from:to] in bytes.
func (s Str) sub(from, to int) Str {
	out := Str{s: s.s[from:to], markup: s.markup}
	for _, m := range s.marks {
		m.From, m.To = max(m.From, from)-from, min(m.To, to)-from
		if m.From < m.To {
			out.marks = append(out.marks, m)
		}
	}
	return out
}

// rewritten is text computed from s with no telling which byte came from
// where: all of it is marked if any of s was.
func (s Str) rewritten(text string) Str {
	o := origin(s)
	if o == trusted || text == "" {
		return Str{s: text, markup: s.markup}
	}
	return Str{s: text, marks: []Span{{0, len(text), o}}, markup: s.markup}
}

// origin is the origin of text computed from all of parts. It stays Final
// only if nothing else went in.
func origin(parts ...Str) Origin {
	o := trusted
	for _, p := range parts {
		whole := len(p.marks) == 1 && p.marks[0].From == 0 && p.marks[0].To == len(p.s)
		for _, m := range p.marks {
			if m.Origin != Final || !whole {
				return Outside
			}
			o = Final
		}
	}
	return o
}

func (s Str) trimFunc(left, right bool, cut func(rune) bool) Str {
	from, to := 0, len(s.s)
	if left {
		from = to - len(strings.TrimLeftFunc(s.s, cut))
	}
	if right {
		to = from + len(strings.TrimRightFunc(s.s[from:], cut))
	}
	return s.sub(from, to)
}

// strip is Python's strip, lstrip and rstrip. chars is nil for blanks.
func (s Str) strip(left, right bool, chars *Str) Str {
	if chars == nil {
		return s.trimFunc(left, right, isSpace)
	}
	return s.trimFunc(left, right, func(r rune) bool { return strings.ContainsRune(chars.s, r) })
}

// ascii reports whether byte offsets are code point offsets.
func (s Str) ascii() bool {
	for i := 0; i < len(s.s); i++ {
		if s.s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// runes is the length in code points.
func (s Str) runes() int { return utf8.RuneCountInString(s.s) }

// offsets returns the byte offset of each code point and of the end.
func (s Str) offsets() []int {
	at := make([]int, 0, len(s.s)+1)
	for i := range s.s {
		at = append(at, i)
	}
	return append(at, len(s.s))
}

// A builder concatenates strings, keeping their marks.
type builder struct {
	b     strings.Builder
	marks []Span
}

func (b *builder) len() int { return b.b.Len() }

// size is what the text and its marks take, for the memory limit.
func (b *builder) size() int { return b.b.Len() + 24*len(b.marks) }

// grow makes room for so many more bytes and marks.
func (b *builder) grow(size, marks int) {
	b.b.Grow(size)
	b.marks = slices.Grow(b.marks, marks)
}

func (b *builder) text(s string) { b.b.WriteString(s) }

func (b *builder) add(s Str) {
	at, n := b.b.Len(), len(b.marks)
	b.b.WriteString(s.s)
	marks := s.marks
	if n > 0 && len(marks) > 0 && b.marks[n-1].To == marks[0].From+at && b.marks[n-1].Origin == marks[0].Origin {
		b.marks[n-1].To = marks[0].To + at
		marks = marks[1:]
	}
	b.marks = append(b.marks, marks...)
	if at > 0 {
		for i := range b.marks[n:] {
			b.marks[n+i].From += at
			b.marks[n+i].To += at
		}
	}
}

func (b *builder) repeat(s Str, n int) {
	if len(s.marks) == 0 {
		b.b.WriteString(strings.Repeat(s.s, max(n, 0)))
		return
	}
	for range n {
		b.add(s)
	}
}

func (b *builder) str() Str { return Str{s: b.b.String(), marks: slices.Clip(b.marks)} }

// concat joins parts. Markup escapes what plain text is added to it.
func concat(l, r Str) Str {
	markup := l.markup || r.markup
	if markup {
		l, r = escape(l), escape(r)
	}
	var b builder
	b.grow(len(l.s)+len(r.s), len(l.marks)+len(r.marks))
	b.add(l)
	b.add(r)
	out := b.str()
	out.markup = markup
	return out
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// escape makes text safe for HTML, once.
func escape(s Str) Str {
	if !s.markup {
		s = s.rewritten(htmlEscapes.Replace(s.s))
		s.markup = true
	}
	return s
}
