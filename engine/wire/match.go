package wire

import (
	"bytes"
	"slices"
	"strings"
)

// symbol is the first byte of a special token inside a reader; the second says
// which. It is no byte of UTF-8, so that no text can spell one.
const symbol = 0xFF

// symbolBase is added to the second byte of a symbol, so that it looks like
// nothing else: no blank, no quote.
const symbolBase = 0x80

// vocab are the markers that are single tokens of the vocabulary.
type vocab []string

// newVocab picks the special tokens out of everything a format can write.
func newVocab(texts []string, special func(string) bool) vocab {
	var v vocab
	if special == nil {
		return nil
	}
	for _, text := range texts {
		for i := range len(text) {
			for j := i + 2; j <= len(text); j++ {
				if t := text[i:j]; special(t) && !slices.Contains(v, t) && len(v) < 256-symbolBase {
					v = append(v, t)
				}
			}
		}
	}
	// The longest first, since one spelling may begin with another.
	slices.SortFunc(v, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return v
}

// encode writes the special tokens of text as symbols.
func (v vocab) encode(text string) string {
	var b strings.Builder
	for text != "" {
		i := slices.IndexFunc(v, func(t string) bool { return strings.HasPrefix(text, t) })
		if i < 0 {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		b.WriteByte(symbol)
		b.WriteByte(symbolBase + byte(i))
		text = text[len(v[i]):]
	}
	return b.String()
}

func (v vocab) spell(i byte) string {
	if i -= symbolBase; int(i) < len(v) {
		return v[i]
	}
	return ""
}

// A match reports whether bytes begin with a marker.
type match uint8

const (
	matchNo match = iota
	matchYes
	matchMaybe // the bytes end before the marker does
)

// prefixed reports whether buf begins with lit, and lit's length.
func prefixed(buf []byte, lit string, last bool) (int, match) {
	if len(buf) >= len(lit) {
		if string(buf[:len(lit)]) == lit {
			return len(lit), matchYes
		}
		return 0, matchNo
	}
	if !last && lit[:len(buf)] == string(buf) {
		return 0, matchMaybe
	}
	return 0, matchNo
}

// A marker is a literal and its meaning.
type marker struct {
	text string
	kind markerKind
	arg  int // which of them
}

// markers are literals that are looked for at the same time.
type markers struct {
	list  []marker // the longest first
	first [256]bool
}

func (m *markers) add(v vocab, kind markerKind, texts ...string) {
	for i, text := range texts {
		text = v.encode(text)
		if text == "" || slices.ContainsFunc(m.list, func(o marker) bool { return o.text == text }) {
			continue
		}
		at, _ := slices.BinarySearchFunc(m.list, text, func(o marker, t string) int { return len(t) - len(o.text) })
		m.list = slices.Insert(m.list, at, marker{text, kind, i})
		m.first[text[0]] = true
	}
}

// at reports which marker buf begins with. Where a longer one may follow, it
// is waited for.
func (m *markers) at(buf []byte, last bool) (marker, match) {
	if len(buf) == 0 || !m.first[buf[0]] {
		return marker{}, matchNo
	}
	for _, o := range m.list {
		if _, is := prefixed(buf, o.text, last); is != matchNo {
			return o, is
		}
	}
	return marker{}, matchNo
}

// find returns where the first marker begins, or where the bytes end with what
// may be the beginning of one, or len(buf).
func (m *markers) find(buf []byte, last bool) (int, marker, match) {
	for i, c := range buf {
		if m.first[c] {
			if o, is := m.at(buf[i:], last); is != matchNo {
				return i, o, is
			}
		}
	}
	return len(buf), marker{}, matchNo
}

// cut reports whether buf is the beginning of a marker.
func (m *markers) cut(buf []byte) bool {
	return slices.ContainsFunc(m.list, func(o marker) bool { return strings.HasPrefix(o.text, string(buf)) })
}

// findText is find for one literal.
func findText(buf []byte, lit string, last bool) (int, match) {
	if i := bytes.Index(buf, []byte(lit)); i >= 0 {
		return i, matchYes
	}
	if !last {
		for i := max(0, len(buf)-len(lit)+1); i < len(buf); i++ {
			if lit[:len(buf)-i] == string(buf[i:]) {
				return i, matchMaybe
			}
		}
	}
	return len(buf), matchNo
}

// blanks returns how many blanks buf begins with.
func blanks(buf []byte) int {
	n := 0
	for n < len(buf) && isBlank(buf[n]) {
		n++
	}
	return n
}
