package token

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"quern/engine/token/internal/pretoken"
)

// bpe is byte pair encoding: a word starts as single bytes (or characters, if
// raw), and neighbours join in the order of the merge list.
//
// Sennrich, Haddow & Birch, "Neural Machine Translation of Rare Words with
// Subword Units", 2016.
type bpe struct {
	cut     *pretoken.Splitter
	pairs   *pairTable
	bytes   [256]ID
	chars   *charIDs      // raw: what single characters are; otherwise nil
	words   *textTable    // with ignoreMerges: whole words; otherwise nil
	newline map[string]ID // raw: runs of line feeds that are tokens
	cache   *wordCache
	seams   *seams
	joins   func(word string, i int) bool // if not nil: no seam is here after all
	start   func(g *merger, word string)
}

// charIDs are the tokens of single characters.
type charIDs struct {
	ascii [utf8.RuneSelf]ID
	wide  map[string]ID
}

func newCharIDs() *charIDs {
	c := &charIDs{wide: make(map[string]ID)}
	for i := range c.ascii {
		c.ascii[i] = None
	}
	return c
}

// add notes a token if its text is one character.
func (c *charIDs) add(text string, id ID) {
	if _, w := utf8.DecodeRuneInString(text); w != len(text) {
		return
	}
	if text[0] < utf8.RuneSelf {
		c.ascii[text[0]] = id
	} else {
		c.wide[text] = id
	}
}

// first returns the token, or None, and the width of the first character of
// text.
func (c *charIDs) first(text string) (ID, int) {
	if text[0] < utf8.RuneSelf {
		return c.ascii[text[0]], 1
	}
	_, w := utf8.DecodeRuneInString(text)
	if id, ok := c.wide[text[:w]]; ok {
		return id, w
	}
	return None, w
}

func newBPE(s *Spec, v *Vocab) (model, error) {
	pre, err := pretoken.Named(s.Pre)
	if err != nil {
		return nil, err
	}
	if s.Model == "gemma4" {
		pre = pretoken.All["gemma4"]
	}
	m := &bpe{cache: new(wordCache)}
	if m.cut, err = pretoken.New(pre.Patterns); err != nil {
		return nil, err
	}
	if len(s.Merges) == 0 {
		return nil, fmt.Errorf("%w: no merges", ErrFormat)
	}
	if m.pairs, err = newPairTable(len(s.Merges), len(s.Tokens)); err != nil {
		return nil, err
	}
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
		m.pairs.add(l, r, i, into, false)
	}
	for i := range m.bytes {
		m.bytes[i] = None
	}
	m.start = m.byteByByte
	m.findSeams(s.Tokens, v, !pre.Raw)
	if pre.Raw {
		m.start = m.charByChar
		m.chars = newCharIDs()
		m.newline = make(map[string]ID)
	}
	if s.IgnoreMerges {
		m.words = newTextTable(len(s.Tokens), v.Bytes)
	}
	for i, text := range s.Tokens {
		id := ID(i)
		switch b := v.Bytes(id); {
		case v.kinds[id] == Byte:
			m.bytes[b[0]] = id
		case text == "" || !v.plain(id):
		case pre.Raw:
			m.chars.add(text, id)
			if strings.Trim(text, "\n") == "" {
				m.newline[text] = id
			}
		default:
			if len(b) == 1 && m.bytes[b[0]] == None {
				m.bytes[b[0]] = id
			}
			if m.words != nil && v.kinds[id] != UserDefined {
				m.words.add(id)
			}
		}
	}
	if !pre.Raw {
		m.pairs.startFrom(&m.bytes)
	}
	return m, nil
}

func (m *bpe) encode(sc *scratch, dst []ID, text string, _ bool) []ID {
	if m.chars != nil {
		text = strings.ReplaceAll(text, " ", blankMark)
	}
	c := &sc.cursor
	c.Begin(m.cut, text)
	for word := c.Next(); word != ""; word = c.Next() {
		sc.word(len(word), dst)
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
	key := keyOf(word)
	dst, ok := m.cache.get(dst, &key)
	if ok {
		return dst
	}
	n := m.seam(word)
	if n < len(word) {
		for ; word != ""; n = m.seam(word) {
			sc.word(n, dst)
			dst = m.part(sc, dst, word[:n])
			word = word[n:]
		}
		return dst
	}
	from := len(dst)
	if id, ok := m.whole(word); ok {
		dst = append(dst, id)
	} else {
		dst = m.merge(sc, dst, word)
	}
	m.cache.put(&key, dst[from:])
	return dst
}

// seam returns where the first part of a word ends.
func (m *bpe) seam(word string) int {
	n := nextSeam(m.seams, word, 0)
	for m.joins != nil && n < len(word) && m.joins(word, n) {
		n = nextSeam(m.seams, word, n)
	}
	return n
}

// part encodes a part of a word between seams.
func (m *bpe) part(sc *scratch, dst []ID, word string) []ID {
	key := keyOf(word)
	if m.words != nil || m.newline != nil {
		key.part() // as a word it may be something else
	}
	dst, ok := m.cache.get(dst, &key)
	if ok {
		return dst
	}
	from := len(dst)
	dst = m.merge(sc, dst, word)
	m.cache.put(&key, dst[from:])
	return dst
}

// whole looks a word up that is not taken apart.
func (m *bpe) whole(word string) (ID, bool) {
	if len(word) > maxTokenLen {
		return None, false
	}
	if id := m.words.find(word); id != None {
		return id, true
	}
	id, ok := m.newline[word]
	return id, ok
}

// merge appends the tokens of a word's bytes, or characters.
func (m *bpe) merge(sc *scratch, dst []ID, word string) []ID {
	g := &sc.merger
	g.pairs = m.pairs
	g.clear()
	m.start(g, word)
	g.run()
	n := int32(len(g.ids))
	for i := int32(0); i < n; i = g.next[i] {
		if id := g.ids[i]; id != None {
			dst = append(dst, id)
			continue
		}
		// A byte without a token cannot be spelled and is left out.
		for _, b := range []byte(word[g.start[i]:g.end(g.next[i], len(word))]) {
			if id := m.bytes[b]; id != None {
				dst = append(dst, id)
			}
		}
	}
	return dst
}

// byteByByte and charByChar add the pieces that merging starts from.
func (m *bpe) byteByByte(g *merger, word string) {
	g.bytes = word
	for i := range len(word) {
		g.add(m.bytes[word[i]], i)
	}
}

func (m *bpe) charByChar(g *merger, word string) {
	for i := 0; i < len(word); {
		id, w := m.chars.first(word[i:])
		g.add(id, i)
		i += w
	}
}

// findSeams looks at all tokens that text may become.
func (m *bpe) findSeams(tokens []string, v *Vocab, bytewise bool) {
	m.seams = newSeams(len(tokens))
	var b []byte
	for i, text := range tokens {
		if !v.plain(ID(i)) {
			continue
		}
		if b = b[:0]; bytewise {
			b = unspell(b, text)
		} else {
			b = append(b, text...)
		}
		m.seams.add(b)
	}
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
