package grammar

import (
	"slices"
	"unicode/utf8"
)

// A RuneRange holds the characters from Lo to Hi, both included.
type RuneRange struct{ Lo, Hi rune }

// A RuneSet is a set of characters: ranges in order, apart from each other, and
// without surrogates, which UTF-8 cannot hold. Runes makes one.
type RuneSet []RuneRange

// AllRunes holds every character.
func AllRunes() RuneSet {
	return RuneSet{{0, surrogateMin - 1}, {surrogateMax + 1, utf8.MaxRune}}
}

const (
	surrogateMin = 0xD800
	surrogateMax = 0xDFFF
)

// Runes returns the set of all characters of the ranges, which may overlap and
// come in any order. What is no character is left out.
func Runes(ranges ...RuneRange) RuneSet {
	var set RuneSet
	add := func(lo, hi rune) {
		if lo <= hi {
			set = append(set, RuneRange{lo, hi})
		}
	}
	for _, r := range ranges {
		lo, hi := max(r.Lo, 0), min(r.Hi, utf8.MaxRune)
		add(lo, min(hi, surrogateMin-1))
		add(max(lo, surrogateMax+1), hi)
	}
	slices.SortFunc(set, func(a, b RuneRange) int { return int(a.Lo) - int(b.Lo) })
	n := 0
	for _, r := range set {
		if n > 0 && r.Lo <= set[n-1].Hi+1 {
			set[n-1].Hi = max(set[n-1].Hi, r.Hi)
		} else {
			set[n] = r
			n++
		}
	}
	return set[:n]
}

// OneOf returns the set of the characters of s.
func OneOf(s string) RuneSet {
	var ranges []RuneRange
	for _, r := range s {
		ranges = append(ranges, RuneRange{r, r})
	}
	return Runes(ranges...)
}

// Negate returns all characters that are not of s.
func (s RuneSet) Negate() RuneSet {
	var out []RuneRange
	next := rune(0)
	for _, r := range s {
		out = append(out, RuneRange{next, r.Lo - 1})
		next = r.Hi + 1
	}
	return Runes(append(out, RuneRange{next, utf8.MaxRune})...)
}

// Intersect returns the characters of both s and t.
func (s RuneSet) Intersect(t RuneSet) RuneSet {
	var out RuneSet
	for len(s) > 0 && len(t) > 0 {
		lo, hi := max(s[0].Lo, t[0].Lo), min(s[0].Hi, t[0].Hi)
		if lo <= hi {
			out = append(out, RuneRange{lo, hi})
		}
		if s[0].Hi < t[0].Hi {
			s = s[1:]
		} else {
			t = t[1:]
		}
	}
	return out
}

// Minus returns the characters of s that are not of t.
func (s RuneSet) Minus(t RuneSet) RuneSet { return s.Intersect(t.Negate()) }

// Contains reports whether r is of s.
func (s RuneSet) Contains(r rune) bool {
	i, _ := slices.BinarySearchFunc(s, r, func(x RuneRange, r rune) int { return int(x.Hi) - int(r) })
	return i < len(s) && s[i].Lo <= r
}

// A byteSpan holds the bytes from lo to hi.
type byteSpan struct{ lo, hi byte }

// utf8Spans calls f with sequences of spans whose strings are together the UTF-8
// forms of the characters from lo to hi, each exactly once. f must not keep its
// argument.
func utf8Spans(lo, hi rune, f func([]byteSpan)) {
	for size, top := range [...]rune{0x7F, 0x7FF, 0xFFFF, utf8.MaxRune} {
		if lo > hi {
			return
		}
		if lo <= top {
			sameSize(lo, min(hi, top), size, f)
			lo = max(lo, top+1)
		}
	}
}

// sameSize is utf8Spans of characters whose forms have the same number of
// continuation bytes. It cuts the range until only a suffix of the bytes varies,
// and that over whole blocks.
func sameSize(lo, hi rune, continuation int, f func([]byteSpan)) {
	for i := 1; i <= continuation; i++ {
		low := rune(1)<<(6*i) - 1 // the bits of the last i bytes
		if lo&^low == hi&^low {
			break
		}
		if lo&low != 0 {
			sameSize(lo, lo|low, continuation, f)
			sameSize(lo|low+1, hi, continuation, f)
			return
		}
		if hi&low != low {
			sameSize(lo, hi&^low-1, continuation, f)
			sameSize(hi&^low, hi, continuation, f)
			return
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	var spans [utf8.UTFMax]byteSpan
	for i := range n {
		spans[i] = byteSpan{a[i], b[i]}
	}
	f(spans[:n])
}
