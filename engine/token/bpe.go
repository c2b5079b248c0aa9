package token

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bpe is byte pair encoding: a word starts as single bytes (or characters, if
// raw), and neighbours join in the order of the merge list.
//
// Sennrich, Haddow & Birch, "Neural Machine Translation of Rare Words with
// Subword Units", 2016.
type bpe struct {
	cut     *splitter
	pairs   map[uint64]uint64 // left<<32|right → rank<<32|joined
	bytes   [256]ID
	chars   map[string]ID // raw: what single characters are; otherwise nil
	words   map[string]ID // with ignoreMerges: whole words; otherwise nil
	newline map[string]ID // raw: runs of line feeds that are tokens
	cache   wordCache
}

func newBPE(s *Spec, v *Vocab) (model, error) {
	pre, err := pretokenizerOf(s.Pre)
	if err != nil {
		return nil, err
	}
	if s.Model == "gemma4" {
		pre = pretokenizers["gemma4"]
	}
	m := &bpe{}
	if m.cut, err = newSplitter(pre.patterns); err != nil {
		return nil, err
	}
	if len(s.Merges) == 0 {
		return nil, fmt.Errorf("%w: no merges", ErrFormat)
	}
	m.pairs = make(map[uint64]uint64, len(s.Merges))
	var joined []byte
	for i, x := range s.Merges {
		l, ok := v.ids[x[0]]
		r, ok2 := v.ids[x[1]]
		joined = append(append(joined[:0], x[0]...), x[1]...)
		into, ok3 := v.ids[string(joined)]
		if !ok || !ok2 || !ok3 {
			return nil, fmt.Errorf("%w: merge %d joins %.40q and %.40q, but not all three are tokens", ErrFormat, i, x[0], x[1])
		}
		// Text must not be able to spell a control token.
		if !v.plain(l) || !v.plain(r) || !v.plain(into) {
			continue
		}
		key := uint64(uint32(l))<<32 | uint64(uint32(r))
		if _, dup := m.pairs[key]; !dup {
			m.pairs[key] = uint64(i)<<32 | uint64(uint32(into))
		}
	}
	for i := range m.bytes {
		m.bytes[i] = None
	}
	if pre.raw {
		m.chars = make(map[string]ID)
		m.newline = make(map[string]ID)
	}
	if s.IgnoreMerges {
		m.words = make(map[string]ID)
	}
	for i, text := range s.Tokens {
		id := ID(i)
		switch b := v.Bytes(id); {
		case v.kinds[id] == Byte:
			m.bytes[b[0]] = id
		case text == "" || !v.plain(id):
		case pre.raw:
			if utf8.RuneCountInString(text) == 1 {
				m.chars[text] = id
			}
			if strings.Trim(text, "\n") == "" {
				m.newline[text] = id
			}
		default:
			if len(b) == 1 && m.bytes[b[0]] == None {
				m.bytes[b[0]] = id
			}
			if m.words != nil && v.kinds[id] != UserDefined {
				m.words[string(b)] = id
			}
		}
	}
	return m, nil
}

func (m *bpe) pair(_ []byte, l, r *piece) (uint32, ID) {
	if x, ok := m.pairs[uint64(uint32(l.id))<<32|uint64(uint32(r.id))]; ok {
		return uint32(x >> 32), ID(uint32(x))
	}
	return never, None
}

func (m *bpe) encode(sc *scratch, dst []ID, text string, _ bool) []ID {
	if m.chars != nil {
		text = strings.ReplaceAll(text, " ", blankMark)
	}
	c := &sc.cursor
	c.begin(m.cut, text)
	for word := c.next(); word != ""; word = c.next() {
		dst = m.word(sc, dst, word)
	}
	return dst
}

func (m *bpe) word(sc *scratch, dst []ID, word string) []ID {
	if len(word) == 1 && m.chars == nil {
		if id := m.bytes[word[0]]; id != None {
			return append(dst, id)
		}
		return dst
	}
	if id, ok := m.words[word]; ok {
		return append(dst, id)
	}
	if id, ok := m.newline[word]; ok {
		return append(dst, id)
	}
	dst, slot, ok := get(&m.cache, dst, word)
	if ok {
		return dst
	}
	from := len(dst)
	a := sc.pieces[:0]
	if m.chars == nil {
		for i := range len(word) {
			a = append(a, piece{start: int32(i), end: int32(i) + 1, id: m.bytes[word[i]]})
		}
	} else {
		for i := 0; i < len(word); {
			_, w := utf8.DecodeRuneInString(word[i:])
			id, ok := m.chars[word[i:i+w]]
			if !ok {
				id = None
			}
			a = append(a, piece{start: int32(i), end: int32(i + w), id: id})
			i += w
		}
	}
	sc.pieces = a
	for _, p := range sc.merge(m, nil, a) {
		if p.id != None {
			dst = append(dst, p.id)
			continue
		}
		// A byte without a token cannot be spelled and is left out.
		for _, b := range []byte(word[p.start:p.end]) {
			if id := m.bytes[b]; id != None {
				dst = append(dst, id)
			}
		}
	}
	put(&m.cache, slot, word, dst[from:])
	return dst
}

// GPT-2 spells bytes as characters: printable Latin-1 stands for itself, the
// other 68 bytes for U+0100 and up, in order.
var byteOf = func() (t [0x144]int16) {
	next := 0x100
	for i := range t {
		t[i] = -1
	}
	for b := range 256 {
		if '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b {
			t[b] = int16(b)
		} else {
			t[next] = int16(b)
			next++
		}
	}
	return t
}()

// unspell appends the bytes that a byte-level token stands for. A token with
// any other character stands for its own text.
func unspell(dst []byte, text string) []byte {
	n := len(dst)
	for _, r := range text {
		if r >= rune(len(byteOf)) || byteOf[r] < 0 {
			return append(dst[:n], text...)
		}
		dst = append(dst, byte(byteOf[r]))
	}
	return dst
}
