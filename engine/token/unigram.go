package token

import (
	"math"
	"slices"
	"unicode/utf8"
)

// unigram chooses, of all ways to cut normalised text into tokens, the one
// with the highest sum of scores.
//
// Kudo, "Subword Regularization: Improving Neural Network Translation Models
// with Multiple Subword Candidates", 2018.
type unigram struct {
	trie    *trie
	scores  []float64 // by id; 0 for user-defined tokens, which makes them likely
	unk     ID
	unknown float64 // score of a character no token spells
	chars   *charsmap
	prefix  bool
	squeeze bool // runs of spaces count as one
}

// unknownPenalty is what SentencePiece takes off the lowest score for a
// character that is not in the vocabulary.
const unknownPenalty = 10

// A best is the best way to reach a place in the text: over the token id,
// which starts at from.
type best struct {
	score float64
	from  int32
	id    ID
}

func newUnigram(s *Spec, v *Vocab) (model, error) {
	m := &unigram{
		scores: make([]float64, len(s.Tokens)),
		unk:    v.Special(UNK),
		prefix: s.SpacePrefix, squeeze: s.MergeSpaces,
	}
	var err error
	if m.chars, err = newCharsmap(s.Charsmap); err != nil {
		return nil, err
	}
	var ids []ID
	low := 0.0
	for i, text := range s.Tokens {
		id, kind := ID(i), v.kinds[i]
		if s.Scores != nil {
			// Finite, so that every place in the text can be reached.
			m.scores[i] = min(max(float64(s.Scores[i]), -math.MaxFloat32), math.MaxFloat32)
		}
		if kind == Normal {
			low = min(low, m.scores[i])
		}
		if kind == UserDefined {
			m.scores[i] = 0
		}
		if text != "" && v.plain(id) {
			ids = append(ids, id)
		}
	}
	m.unknown = low - unknownPenalty
	m.trie = newTrie(s.Tokens, ids)
	return m, nil
}

func (m *unigram) encode(sc *scratch, dst []ID, text string, _ bool) []ID {
	sc.word(0, dst)
	sc.text = m.normalise(sc, sc.text[:0], text)
	return m.cheapest(sc, dst)
}

// cheapest appends the best way to cut sc.text.
func (m *unigram) cheapest(sc *scratch, dst []ID) []ID {
	b := sc.text
	if len(b) == 0 {
		return dst
	}
	at := slices.Grow(sc.best[:0], len(b)+1)[:len(b)+1]
	sc.best = at
	at[0] = best{}
	for i := 1; i < len(at); i++ {
		at[i] = best{score: math.Inf(-1)}
	}
	for i := 0; i < len(b); {
		_, w := utf8.DecodeRune(b[i:])
		whole := false
		here := at[i].score
		n, j := int32(0), i
		for ; j < len(b); j++ {
			if n = m.trie.child(n, b[j]); n == 0 {
				break
			}
			id := m.trie.id[n]
			if id == None {
				continue
			}
			whole = whole || j+1 == i+w
			if x := here + m.scores[id]; x > at[j+1].score {
				at[j+1] = best{x, int32(i), id}
			}
		}
		sc.step(j - i + 1)
		if x := here + m.unknown; !whole && x > at[i+w].score {
			at[i+w] = best{x, int32(i), m.unk}
		}
		i += w
	}
	from := len(dst)
	unknown := false
	for i := int32(len(b)); i > 0; i = at[i].from {
		id := at[i].id
		// A run of characters that no token spells is one unknown token.
		if id != m.unk || !unknown {
			if id != None {
				dst = append(dst, id)
			}
		}
		unknown = id == m.unk
	}
	slices.Reverse(dst[from:])
	return dst
}

// normalise appends text as SentencePiece would hand it to the model:
// characters replaced, spaces marked.
func (m *unigram) normalise(sc *scratch, dst []byte, text string) []byte {
	word, prefixed := false, false
	for i := 0; i < len(text); {
		out, n := m.chars.replace(text[i:])
		if n == 0 {
			r, w := utf8.DecodeRuneInString(text[i:])
			out, n = text[i:i+w], w
			if r == utf8.RuneError && w == 1 {
				out = "\uFFFD"
			}
		}
		i += n
		sc.step(n)
		for j := range len(out) {
			switch c := out[j]; {
			case c != ' ':
				if !word {
					word = true
					if m.squeeze || m.prefix && !prefixed {
						dst = append(dst, blankMark...)
						prefixed = true
					}
				}
				dst = append(dst, c)
			default:
				word = false
				if !m.squeeze {
					dst = append(dst, blankMark...)
				}
			}
		}
	}
	return dst
}
