package token

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// spm is SentencePiece's BPE: text starts as single characters, and the
// neighbours that make the token of the highest score join first. Characters
// that stay without a token are spelled in byte tokens.
type spm struct {
	ids    *textTable // the tokens of texts
	ascii  [utf8.RuneSelf]ID
	rank   []uint32 // by id: place of its score, best first
	longer int      // bytes of the longest token
	bytes  [256]ID
	unk    ID
	prefix bool // a space is put before text
	seams  *seams
	cache  *wordCache
}

func newSPM(s *Spec, v *Vocab) (model, error) {
	m := &spm{
		rank:   make([]uint32, len(s.Tokens)),
		unk:    v.Special(UNK),
		prefix: s.SpacePrefix,
		seams:  newSeams(len(s.Tokens)),
		cache:  new(wordCache),
	}
	for i := range m.bytes {
		m.bytes[i] = None
	}
	// The texts as the table reads them, one after another.
	var all []byte
	ends := make([]int, len(s.Tokens)+1)
	m.ids = newTextTable(len(s.Tokens), func(id ID) []byte { return all[ends[id]:ends[id+1]] })
	for i, text := range s.Tokens {
		all = append(all, text...)
		ends[i+1] = len(all)
		id := ID(i)
		if v.kinds[id] == Byte {
			m.bytes[v.Bytes(id)[0]] = id
			continue
		}
		if text == "" || !v.plain(id) {
			continue
		}
		m.ids.add(id)
		m.seams.add(all[ends[i]:])
		m.longer = max(m.longer, len(text))
	}
	for b := range m.bytes {
		if m.bytes[b] == None {
			m.bytes[b] = m.ids.findBytes([]byte{byte(b)})
		}
	}
	for c := range m.ascii {
		m.ascii[c] = m.ids.findBytes([]byte{byte(c)})
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
	if id := m.ids.findBytes(text); id != None {
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
	sc.word(0, dst)
	for len(b) > 0 {
		n := nextSeam(m.seams, b, 0)
		sc.word(n, dst)
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
		if c := word[i]; c < utf8.RuneSelf {
			g.add(m.ascii[c], i)
			i++
			continue
		}
		_, w := utf8.DecodeRune(word[i:])
		g.add(m.ids.findBytes(word[i:i+w]), i)
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

// blankMark is SentencePiece's mark for a space.
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

// markSpaces appends text with spaces turned into SentencePiece's.
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
