package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// An hfMerge is a pair of tokens: "A B", or ["A", "B"].
type hfMerge [2]string

func (m *hfMerge) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		l, r, ok := strings.Cut(text, " ")
		if !ok || strings.Contains(r, " ") {
			return fmt.Errorf("the merge %.40q is no pair", text)
		}
		*m = hfMerge{l, r}
		return nil
	}
	return json.Unmarshal(b, (*[2]string)(m))
}

func readBPE(text json.RawMessage, s *Spec) error {
	var m struct {
		Vocab        map[string]int64 `json:"vocab"`
		Merges       []hfMerge        `json:"merges"`
		Unknown      *string          `json:"unk_token"`
		Prefix       *string          `json:"continuing_subword_prefix"`
		Suffix       *string          `json:"end_of_word_suffix"`
		FuseUnknown  bool             `json:"fuse_unk"`
		ByteFallback bool             `json:"byte_fallback"`
		IgnoreMerges bool             `json:"ignore_merges"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%w: the model of tokenizer.json: %v", ErrFormat, err)
	}
	if m.Prefix != nil && *m.Prefix != "" || m.Suffix != nil && *m.Suffix != "" {
		return fmt.Errorf("%w: a BPE model that marks the inside or the end of words", ErrUnsupported)
	}
	if err := s.place(m.Vocab); err != nil {
		return err
	}
	if m.Unknown != nil {
		if err := s.unknown(*m.Unknown); err != nil {
			return err
		}
	}
	if m.ByteFallback {
		s.byteTokens()
	}
	s.pipeline.build = func(s *Spec, v *Vocab) (wordModel, error) {
		h := &hfBPE{bytewise: s.pipeline.bytes, fuse: m.FuseUnknown, unk: None}
		if m.Unknown != nil {
			h.unk = v.Special(UNK)
		}
		return h, h.init(s, v, m.Merges, m.ByteFallback, m.IgnoreMerges)
	}
	return nil
}

// hfBPE is byte pair encoding over the bytes of a word or its characters.
type hfBPE struct {
	bpe
	bytewise bool
	fuse     bool // neighbouring unknown characters are one token
	unk      ID   // None: unknown characters are left out
}

func (m *hfBPE) init(s *Spec, v *Vocab, merges []hfMerge, fallback, ignore bool) error {
	m.cache = new(wordCache)
	var err error
	if m.pairs, err = newPairTable(len(merges), len(s.Tokens)); err != nil {
		return err
	}
	var joined []byte
	for i, x := range merges {
		l, ok := v.ids[x[0]]
		r, ok2 := v.ids[x[1]]
		joined = append(append(joined[:0], x[0]...), x[1]...)
		into, ok3 := v.ids[string(joined)]
		if !ok || !ok2 || !ok3 {
			return fmt.Errorf("%w: merge %d joins %.40q and %.40q, but not all three are tokens", ErrFormat, i, x[0], x[1])
		}
		// Text must not be able to spell a control token.
		if v.plain(l) && v.plain(r) && v.plain(into) {
			// A pair listed twice counts the last time.
			m.pairs.add(l, r, i, into, true)
		}
	}
	for i := range m.bytes {
		m.bytes[i] = None
	}
	m.chars = newCharIDs()
	if ignore {
		m.words = newTextTable(len(s.Tokens), func(id ID) []byte { return m.spelling(v, id) })
	}
	for i, text := range s.Tokens {
		id := ID(i)
		switch {
		case v.kinds[id] == Byte:
			if fallback {
				m.bytes[v.Bytes(id)[0]] = id
			}
		case text == "" || !v.plain(id):
		case m.bytewise:
			b := m.spelling(v, id)
			if len(b) == 1 && utf8.RuneCountInString(text) == 1 && byteOf0(text) {
				m.bytes[b[0]] = id
			}
			if m.words != nil {
				m.words.add(id)
			}
		default:
			m.chars.add(text, id)
			if m.words != nil {
				m.words.add(id)
			}
		}
	}
	m.findSeams(s.Tokens, v, m.bytewise)
	if m.bytewise && !slices.Contains(m.bytes[:], None) {
		m.start = m.byteByByte
		m.pairs.startFrom(&m.bytes)
		return nil
	}
	// What is unknown may join with others as a token, or bring those on both
	// sides of it together.
	m.start = m.begin
	m.joins = func(word string, i int) bool {
		if m.bytewise {
			return m.bytes[word[i-1]] == None || m.bytes[word[i]] == None
		}
		_, w := utf8.DecodeLastRuneInString(word[:i])
		return m.unknown(word[i-w:]) || m.unknown(word[i:])
	}
	return nil
}

// spelling returns the bytes in a word that a token stands for.
func (m *hfBPE) spelling(v *Vocab, id ID) []byte {
	switch {
	case !m.bytewise:
		return []byte(v.texts[id])
	case v.kinds[id] == UserDefined:
		return unspell(nil, v.texts[id])
	}
	return v.Bytes(id)
}

// byteOf0 reports whether text starts with a character that spells a byte.
func byteOf0(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return int(r) < len(byteOf) && byteOf[r] >= 0
}

// begin adds the bytes or characters of a word.
func (m *hfBPE) begin(g *merger, word string) {
	for i := 0; i < len(word); {
		w, id := 1, None
		if m.bytewise {
			id = m.bytes[word[i]]
		} else if id, w = m.chars.first(word[i:]); id == None && m.spelled(word[i:i+w]) {
			for j := i; j < i+w; j++ {
				g.add(m.bytes[word[j]], j)
			}
			i += w
			continue
		}
		switch n := len(g.ids); {
		case id != None:
			g.add(id, i)
		case m.unk == None:
		case m.fuse && n > 0 && g.ids[n-1] == m.unk:
		default:
			g.add(m.unk, i)
		}
		i += w
	}
}

// unknown reports whether the first character of text has no token.
func (m *hfBPE) unknown(text string) bool {
	id, w := m.chars.first(text)
	return id == None && !m.spelled(text[:w])
}

// spelled reports whether there is a token for each byte of s.
func (m *hfBPE) spelled(s string) bool {
	for i := range len(s) {
		if m.bytes[s[i]] == None {
			return false
		}
	}
	return true
}
