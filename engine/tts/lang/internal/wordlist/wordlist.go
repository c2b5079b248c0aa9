// Package wordlist keeps the words of a lexicon and finds those that a text begins with.
package wordlist

import (
	"slices"
	"sort"
)

// A List is words in order. The index of each is how many stand before it.
type List struct {
	begin map[rune]span // the words that begin with a character
	tails []uint16      // of all words, without their first character
	ends  []int32       // the tail of word i is tails[ends[i]:ends[i+1]]
}

// A span is of words from lo up to, but without, hi.
type span struct{ lo, hi int32 }

// New returns a list without words.
func New() *List { return &List{begin: map[rune]span{}, ends: []int32{0}} }

// Add appends a word, of a character at least, which stands behind all others in the order.
func (l *List) Add(word []uint16) {
	i, first := int32(len(l.ends)-1), rune(word[0])
	b, ok := l.begin[first]
	if !ok {
		b.lo = i
	}
	b.hi = i + 1
	l.begin[first] = b
	l.tails = append(l.tails, word[1:]...)
	l.ends = append(l.ends, int32(len(l.tails)))
}

// Clip gives back the memory that more words would take.
func (l *List) Clip() { l.tails, l.ends = slices.Clone(l.tails), slices.Clone(l.ends) }

// Each calls f with the length and the index of every word that text begins with, the shortest
// first. The text has a character at least.
func (l *List) Each(text []rune, f func(length int, word int32)) {
	b := l.begin[text[0]]
	for k := 1; b.lo < b.hi; k++ {
		if int(l.ends[b.lo+1]-l.ends[b.lo]) == k-1 {
			f(k, b.lo)
		}
		if k == len(text) {
			return
		}
		r, lo, n := text[k], b.lo, int(b.hi-b.lo)
		b.lo += int32(sort.Search(n, func(i int) bool { return l.char(lo+int32(i), k) >= r }))
		b.hi = lo + int32(sort.Search(n, func(i int) bool { return l.char(lo+int32(i), k) > r }))
	}
}

// char returns the k-th character of a word, counted from 0, or -1 behind its end.
func (l *List) char(word int32, k int) rune {
	if at := l.ends[word] + int32(k) - 1; at < l.ends[word+1] {
		return rune(l.tails[at])
	}
	return -1
}

// Alone reports whether a character is a word.
func (l *List) Alone(r rune) bool {
	b, ok := l.begin[r]
	return ok && l.ends[b.lo+1] == l.ends[b.lo]
}
