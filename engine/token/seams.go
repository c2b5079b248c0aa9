package token

import (
	"math/bits"
	"unicode/utf8"

	"quern/engine/token/internal/pretoken"
)

// seams find characters between which no token lies, so that merging cannot
// join over them: a word is encoded piece by piece, and short pieces occur
// again and can be remembered. Chinese text becomes words of a few characters
// this way.
//
// They may miss a seam but never invent one.
type seams struct {
	ascii [utf8.RuneSelf][utf8.RuneSelf / 64]uint64 // second characters, by the first
	pairs []uint64                                  // hashes of other pairs, as bits
	shift uint
	// torn holds pairs of bytes, last and first of two characters, of tokens
	// that do not hold both characters whole.
	torn [256][256 / 64]uint64
}

// newSeams expects tokens of about n pairs of characters.
func newSeams(n int) *seams {
	size := max(10, bits.Len(uint(8*n)))
	return &seams{pairs: make([]uint64, 1<<(size-6)), shift: uint(64 - size)}
}

func (s *seams) hash(a, b rune) uint64 {
	return (uint64(a)<<32 | uint64(b)) * 0x9E3779B97F4A7C15 >> s.shift
}

// add notes the pairs in the bytes of a token.
func (s *seams) add(token []byte) {
	if len(token) < 2 {
		return
	}
	last, w := utf8.DecodeRune(token)
	whole := last != utf8.RuneError || w > 1
	for i := w; i < len(token); i += w {
		r := rune(token[i])
		w = 1
		if r >= utf8.RuneSelf {
			r, w = utf8.DecodeRune(token[i:])
		}
		now := r != utf8.RuneError || w > 1
		switch {
		case !whole || !now:
			b := token[i]
			s.torn[token[i-1]][b/64] |= 1 << (b % 64)
		case last|r < utf8.RuneSelf:
			s.ascii[last][r/64] |= 1 << (r % 64)
		default:
			h := s.hash(last, r)
			s.pairs[h/64] |= 1 << (h % 64)
		}
		last, whole = r, now
	}
}

// nextSeam returns the first seam after the character at word[at:], or the end.
func nextSeam[T string | []byte](s *seams, word T, at int) int {
	if at == len(word) {
		return at
	}
	last, w := rune(word[at]), 1
	if last >= utf8.RuneSelf {
		last, w = pretoken.Decode(word, at)
	}
	whole := last != utf8.RuneError || w > 1
	for i := at + w; i < len(word); i += w {
		b := word[i]
		r := rune(b)
		w = 1
		if b < utf8.RuneSelf && last < utf8.RuneSelf {
			if s.ascii[last&0x7F][b/64]>>(b%64)&1 == 0 && s.torn[word[i-1]][b/64]>>(b%64)&1 == 0 {
				return i
			}
			last = r
			continue
		}
		if b >= utf8.RuneSelf {
			r, w = pretoken.Decode(word, i)
		}
		now := r != utf8.RuneError || w > 1
		if whole && now && s.torn[word[i-1]][b/64]>>(b%64)&1 == 0 {
			if h := s.hash(last, r); s.pairs[h/64]>>(h%64)&1 == 0 {
				return i
			}
		}
		last, whole = r, now
	}
	return len(word)
}
