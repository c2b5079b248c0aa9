package mandarin

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"
)

// A lexicon knows characters and words.
//
// Its file, deflated, is lists of uvarints, each with its length before it: characters as the
// differences between them, and their usual readings; traditional characters likewise, and the
// simplified ones in their place; and words, which are in order: how many characters each has in
// common with the one before it, how many more there are, those, how common it is, and its
// readings, or 0 where they are the usual ones of its characters.
type lexicon struct {
	readings map[rune]Syllable
	simple   map[rune]rune
	begin    map[rune]span // the words that begin with a character
	tails    []rune        // of all words, without their first character
	ends     []int32       // the tail of word i is tails[ends[i]:ends[i+1]]
	weights  []uint8       // quarters of the binary logarithm of how common a word is
	odd      []int32       // words with readings of their own, in order
	said     []Syllable    // those of the words in odd
	saidAt   []int32       // where in said those of a word in odd begin
}

// A span is of words from lo up to, but without, hi.
type span struct{ lo, hi int32 }

// longest is how many characters a word of the lexicon may have.
const longest = 12

// unpacked is the lexicon that is built in.
var unpacked = sync.OnceValues(func() (*lexicon, error) {
	data, err := packed()
	if err != nil {
		return nil, err
	}
	return read(data)
})

// read unpacks a lexicon.
func read(data []byte) (*lexicon, error) {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), 1<<24))
	if err != nil {
		return nil, fmt.Errorf("the lexicon of Mandarin: %w", err)
	}
	list := func() []uint64 {
		n, k := binary.Uvarint(plain)
		if k <= 0 || n > uint64(len(plain)) {
			err = fmt.Errorf("the lexicon of Mandarin is cut off")
			return nil
		}
		plain = plain[k:]
		out := make([]uint64, n)
		for i := range out {
			v, k := binary.Uvarint(plain)
			if k <= 0 {
				err = fmt.Errorf("the lexicon of Mandarin is cut off")
				return nil
			}
			out[i], plain = v, plain[k:]
		}
		return out
	}
	chars, usual, traditional, simple := list(), list(), list(), list()
	common, more, text, weights, readings := list(), list(), list(), list(), list()
	if err != nil || len(chars) != len(usual) || len(traditional) != len(simple) || len(common) != len(more) || len(more) != len(weights) {
		return nil, fmt.Errorf("the lexicon of Mandarin is damaged: %w", err)
	}
	l := &lexicon{readings: make(map[rune]Syllable, len(chars)), simple: make(map[rune]rune, len(simple)), begin: map[rune]span{},
		ends: make([]int32, 0, len(more)+1), weights: make([]uint8, len(weights))}
	var at rune
	for i, d := range chars {
		at += rune(d)
		l.readings[at] = Syllable(usual[i])
	}
	at = 0
	for i, d := range traditional {
		at += rune(d)
		l.simple[at] = rune(simple[i])
	}
	var word []rune
	for i := range common {
		if common[i] > uint64(len(word)) || more[i] > uint64(len(text)) || common[i]+more[i] > longest || common[i]+more[i] < 1 {
			return nil, fmt.Errorf("the lexicon of Mandarin is damaged at word %d", i)
		}
		word = word[:common[i]]
		for _, r := range text[:more[i]] {
			word = append(word, rune(r))
		}
		text = text[more[i]:]
		b, ok := l.begin[word[0]]
		if !ok {
			b.lo = int32(i)
		}
		b.hi = int32(i) + 1
		l.begin[word[0]] = b
		l.ends = append(l.ends, int32(len(l.tails)))
		l.tails = append(l.tails, word[1:]...)
		l.weights[i] = uint8(weights[i])
		if len(readings) == 0 {
			return nil, fmt.Errorf("the lexicon of Mandarin is damaged at word %d", i)
		}
		if readings[0] == 0 {
			readings = readings[1:]
			continue
		}
		if len(readings) < len(word) {
			return nil, fmt.Errorf("the lexicon of Mandarin is damaged at word %d", i)
		}
		l.odd, l.saidAt = append(l.odd, int32(i)), append(l.saidAt, int32(len(l.said)))
		for _, r := range readings[:len(word)] {
			l.said = append(l.said, Syllable(r))
		}
		readings = readings[len(word):]
	}
	l.ends = append(l.ends, int32(len(l.tails)))
	return l, nil
}

// words calls f with the length and the index of every word of the lexicon that text begins
// with, the shortest first.
func (l *lexicon) words(text []rune, f func(length int, word int32)) {
	b := l.begin[text[0]]
	if b.lo < b.hi && l.ends[b.lo+1] == l.ends[b.lo] {
		f(1, b.lo)
	}
	for k := 1; k < min(len(text), longest) && b.lo < b.hi; k++ {
		r, lo := text[k], b.lo
		b.lo += int32(sort.Search(int(b.hi-lo), func(i int) bool { return l.char(lo+int32(i), k) >= r }))
		b.hi = lo + int32(sort.Search(int(b.hi-lo), func(i int) bool { return l.char(lo+int32(i), k) > r }))
		if b.lo < b.hi && int(l.ends[b.lo+1]-l.ends[b.lo]) == k {
			f(k+1, b.lo)
		}
	}
}

// char returns the k-th character of a word, counted from 0, or -1 behind its end.
func (l *lexicon) char(word int32, k int) rune {
	if at := l.ends[word] + int32(k) - 1; at < l.ends[word+1] {
		return l.tails[at]
	}
	return -1
}

// own returns the readings of a word, or nil where they are the usual ones.
func (l *lexicon) own(word int32, length int) []Syllable {
	k, ok := slices.BinarySearch(l.odd, word)
	if !ok {
		return nil
	}
	return l.said[l.saidAt[k]:][:length]
}
