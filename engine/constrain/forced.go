package constrain

import (
	"bytes"
	"math/bits"
	"unsafe"

	"quern/engine/token"
)

// A splitter is the working memory of a mask's Forced.
type splitter struct {
	text []byte
	ids  []token.ID
}

// maxLook is how many bytes are looked at on either side of the end of what is certain: a
// split begins so many before the forced bytes, if there are as many, and tokens of more
// are not expected behind them. Words are shorter.
const maxLook = 64

// Forced implements sample.Mask: the bytes that are certain, split as all of the text is.
// If the split has no boundary at the end of the reply, the model draws the next token; so it does
// for the last tokens if a longer one could stand in their place, as in llguidance.
func (m *mask) Forced(dst, before []token.ID) []token.ID {
	text := m.state.Forced()
	if len(text) == 0 {
		return dst
	}
	ids := m.split(text, before)
	left := len(text) // bytes behind ids[:at]
	at, start := 0, m.state.Tokens()
	for at < len(ids) && m.state.Accept(ids[at]) == nil { // tokens that are no text are not accepted
		left -= len(m.c.vocab.Bytes(ids[at]))
		at++
	}
	sure := at
	for ; left < min(m.c.longest, maxLook); at-- {
		if left > 0 && m.spans(left) {
			sure = at
		}
		if at == 0 {
			break
		}
		m.state.Rollback(1)
		left += len(m.c.vocab.Bytes(ids[at-1]))
	}
	m.state.Rollback(m.state.Tokens() - start)
	return append(dst, ids[:sure]...)
}

// split returns the tokens of text behind the tokens before, nil if those end within one.
func (m *mask) split(text []byte, before []token.ID) []token.ID {
	s := &m.splitter
	from, look := len(before), 0
	for from > 0 && look < maxLook && !m.c.symbols.has(before[from-1]) {
		from--
		look += len(m.c.vocab.Bytes(before[from]))
	}
	before = before[from:]
	s.text = s.text[:0]
	for _, id := range before {
		s.text = append(s.text, m.c.vocab.Bytes(id)...)
	}
	s.text = append(s.text, text...)
	// Encode keeps nothing of its text.
	s.ids = m.c.vocab.Encode(s.ids[:0], unsafe.String(unsafe.SliceData(s.text), len(s.text)), false)
	at, rest := len(s.ids), text
	for at > 0 && len(rest) > 0 {
		b := m.c.vocab.Bytes(s.ids[at-1])
		if len(b) == 0 || !bytes.HasSuffix(rest, b) {
			return nil
		}
		rest = rest[:len(rest)-len(b)]
		at--
	}
	if len(rest) > 0 || len(before) > 0 && (at == 0 || s.ids[at-1] != before[len(before)-1]) {
		return nil
	}
	return s.ids[at:]
}

// spans reports whether a token of more than n bytes may come next, where so many are forced.
func (m *mask) spans(n int) bool {
	m.made = false
	if m.state.Mask(m.words) != nil {
		return true
	}
	// Others are beginnings of these bytes, so the first that are allowed decide.
	for i, w := range m.words {
		for ; w != 0; w &= w - 1 {
			if len(m.c.vocab.Bytes(token.ID(i<<5+bits.TrailingZeros32(w)))) > n {
				return true
			}
		}
	}
	return false
}
