package token

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"quern/engine/token/internal/pretoken"
)

// wordPiece cuts text into words and each word into the longest tokens that
// spell it from the left. A word that cannot be spelled is one unknown token.
//
// Tokens that start a word carry SentencePiece's space mark, as GGUF stores
// them; the others stand alone.
type wordPiece struct {
	table *pretoken.Table
	trie  *trie
	unk   ID
	lower bool
	strip bool // accents
}

func newWordPiece(s *Spec, v *Vocab) (model, error) {
	var ids []ID
	for i, text := range s.Tokens {
		if text != "" && v.plain(ID(i)) {
			ids = append(ids, ID(i))
		}
	}
	return &wordPiece{
		table: pretoken.Classes(),
		trie:  newTrie(s.Tokens, ids),
		unk:   v.Special(UNK),
		lower: s.Lowercase, strip: s.StripAccents,
	}, nil
}

func (m *wordPiece) encode(sc *scratch, dst []ID, text string, _ bool) []ID {
	sc.word(0, dst)
	word := append(sc.text[:0], blankMark...)
	flush := func() {
		if len(word) > len(blankMark) {
			sc.word(0, dst)
			dst = m.word(sc, dst, word)
			word = word[:len(blankMark)]
		}
	}
	for i := 0; i < len(text); {
		r, w := utf8.DecodeRuneInString(text[i:])
		if m.strip {
			r = baseOf(r, text[i:i+w])
		}
		i += w
		sc.step(w)
		switch c := m.table.Of(r); {
		case c&pretoken.Space != 0:
			flush()
		case r == utf8.RuneError || c&pretoken.Control != 0:
		case m.strip && c&pretoken.Mark != 0:
		case c&pretoken.Punct != 0 || r < utf8.RuneSelf && c&pretoken.Symbol != 0 || isIdeograph(r):
			flush()
			word = utf8.AppendRune(word, m.fold(r))
			flush()
		default:
			word = utf8.AppendRune(word, m.fold(r))
		}
	}
	flush()
	sc.text = word
	return dst
}

func (m *wordPiece) fold(r rune) rune {
	if m.lower {
		return unicode.ToLower(r)
	}
	return r
}

func (m *wordPiece) word(sc *scratch, dst []ID, word []byte) []ID {
	from := len(dst)
	for len(word) > 0 {
		id, n := longest(m.trie, word)
		sc.step(n + 1)
		if id == None {
			dst = dst[:from]
			if m.unk != None {
				dst = append(dst, m.unk)
			}
			return dst
		}
		dst = append(dst, id)
		word = word[n:]
	}
	return dst
}

// baseOf returns the first character of the canonical decomposition of r,
// which s spells. The others are dropped, as llama.cpp does: they are accents,
// except in Hangul, whose syllables so lose all but their first letter.
func baseOf(r rune, s string) rune {
	const firstSyllable, syllables, perLetter, firstLetter = 0xAC00, 11172, 588, 0x1100
	if r < utf8.RuneSelf {
		return r
	}
	if firstSyllable <= r && r < firstSyllable+syllables {
		return firstLetter + (r-firstSyllable)/perLetter
	}
	if d := norm.NFD.PropertiesString(s).Decomposition(); len(d) > 0 {
		r, _ = utf8.DecodeRune(d)
	}
	return r
}

// isIdeograph reports the characters that BERT treats as words.
func isIdeograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r < 0x20000:
		return r <= 0x4DBF || 0x4E00 <= r && r <= 0x9FFF || 0xF900 <= r && r <= 0xFAFF
	}
	return r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B81F ||
		// The published code says 2B920 where 2B820 was meant.
		0x2B920 <= r && r <= 0x2CEAF || 0x2F800 <= r && r <= 0x2FA1F
}
