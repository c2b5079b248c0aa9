package token

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// spm is SentencePiece's BPE: text starts as single characters, and the
// neighbours that make the token of the highest score join first. Characters
// that stay without a token are spelled in byte tokens.
type spm struct {
	ids    map[string]ID // what text may become
	rank   []uint32      // by id: place of its score, best first
	longer int           // bytes of the longest token
	bytes  [256]ID
	unk    ID
	prefix bool // a space is put before text
	// words says that no token continues over the start of a word, so that
	// words can be encoded apart from each other and remembered.
	words bool
	cache *wordCache
}

func newSPM(s *Spec, v *Vocab) (model, error) {
	m := &spm{
		ids:    make(map[string]ID, len(s.Tokens)),
		rank:   make([]uint32, len(s.Tokens)),
		unk:    v.Special(UNK),
		prefix: s.SpacePrefix,
		words:  true,
		cache:  new(wordCache),
	}
	for i := range m.bytes {
		m.bytes[i] = None
	}
	for i, text := range s.Tokens {
		id := ID(i)
		if v.kinds[id] == Byte {
			m.bytes[v.Bytes(id)[0]] = id
			continue
		}
		if text == "" || !v.plain(id) {
			continue
		}
		m.ids[text] = id
		m.longer = max(m.longer, len(text))
		if strings.Contains(strings.TrimLeft(text, blankMark), blankMark) {
			m.words = false
		}
	}
	for b := range m.bytes {
		if m.bytes[b] == None {
			if id, ok := m.ids[string([]byte{byte(b)})]; ok {
				m.bytes[b] = id
			}
		}
	}
	if s.Scores != nil {
		order := make([]ID, len(s.Tokens))
		for i := range order {
			order[i] = ID(i)
		}
		slices.SortFunc(order, func(a, b ID) int {
			switch x, y := s.Scores[a], s.Scores[b]; {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		for i, id := range order {
			switch {
			case i == 0:
			case s.Scores[id] == s.Scores[order[i-1]]:
				m.rank[id] = m.rank[order[i-1]]
			default:
				m.rank[id] = uint32(i)
			}
		}
	}
	return m, nil
}

func (m *spm) pair(text []byte) (uint32, ID) {
	if len(text) > m.longer {
		return never, None
	}
	if id, ok := m.ids[string(text)]; ok {
		return m.rank[id], id
	}
	return never, None
}

func (m *spm) encode(sc *scratch, dst []ID, text string, fresh bool) []ID {
	b := sc.text[:0]
	if m.prefix && fresh {
		b = append(b, blankMark...)
	}
	b = markSpaces(b, text)
	sc.text = b
	if !m.words {
		return m.word(sc, dst, b)
	}
	for len(b) > 0 {
		n := nextWord(b)
		dst = m.word(sc, dst, b[:n])
		b = b[n:]
	}
	return dst
}

func (m *spm) word(sc *scratch, dst []ID, word []byte) []ID {
	key := keyOf(word)
	dst, ok := m.cache.get(dst, &key)
	if ok {
		return dst
	}
	from := len(dst)
	g := &sc.merger
	g.pairs, g.other, g.text = nil, m, word
	g.clear()
	for i := 0; i < len(word); {
		_, w := utf8.DecodeRune(word[i:])
		id, ok := m.ids[string(word[i:i+w])]
		if !ok {
			id = None
		}
		g.add(id, i)
		i += w
	}
	g.run()
	n := int32(len(g.ids))
	for i := int32(0); i < n; i = g.next[i] {
		if id := g.ids[i]; id != None {
			dst = append(dst, id)
			continue
		}
		for _, b := range word[g.start[i]:g.end(g.next[i], len(word))] {
			if id := m.bytes[b]; id != None {
				dst = append(dst, id)
			} else if m.unk != None {
				dst = append(dst, m.unk)
			}
		}
	}
	m.cache.put(&key, dst[from:])
	return dst
}

// blankMark is what SentencePiece writes for a space.
const blankMark = "\u2581"

// unmark appends text with SentencePiece's spaces turned back.
func unmark(dst []byte, text string) []byte {
	for {
		before, rest, found := strings.Cut(text, blankMark)
		dst = append(dst, before...)
		if !found {
			return dst
		}
		dst = append(dst, ' ')
		text = rest
	}
}

var markBytes = []byte(blankMark)

// mark appends text with spaces turned into SentencePiece's.
func markSpaces(dst []byte, text string) []byte {
	for {
		i := strings.IndexByte(text, ' ')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, blankMark...)
		text = text[i+1:]
	}
}

// nextWord returns the end of the first word of text: where a space mark
// follows something else.
func nextWord(text []byte) int {
	i := 0
	for bytes.HasPrefix(text[i:], markBytes) {
		i += len(markBytes)
	}
	if j := bytes.Index(text[i:], markBytes); j >= 0 {
		return i + j
	}
	return len(text)
}
