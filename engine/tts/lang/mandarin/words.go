package mandarin

import "slices"

// A Word is one of a text, of its characters from Start to, but without, End.
type Word struct {
	Start, End int
	Read       []Syllable // of its characters, as dictionaries have them
	Said       []Syllable // in the tones they have beside each other
}

// all is how common all words are together, as a weight: a word costs what its own is less. A
// character that is no word of the lexicon is as one that was met once.
const all = 4 * 26

// cut returns the words of a text: those that are the likeliest together if words do not depend
// on each other. chars are simplified characters. A word does not lie across a border. Time and
// memory are linear in the length.
func (l *lexicon) cut(chars []rune, border func(i int) bool) (words []Word, indexes []int32) {
	type step struct {
		cost   int32
		length int32
		word   int32
	}
	best := make([]step, len(chars)+1)
	for i := len(chars) - 1; i >= 0; i-- {
		best[i] = step{best[i+1].cost + all, 1, -1}
		room := 1
		for room < min(longest, len(chars)-i) && !border(i+room) {
			room++
		}
		l.words.Each(chars[i:i+room], func(length int, word int32) {
			if cost := best[i+length].cost + all - int32(l.weights[word]); cost < best[i].cost || length > 1 && cost == best[i].cost {
				best[i] = step{cost, int32(length), word}
			}
		})
	}
	for i := 0; i < len(chars); i += int(best[i].length) {
		words = append(words, Word{Start: i, End: i + int(best[i].length)})
		indexes = append(indexes, best[i].word)
	}
	return words, indexes
}

// has reports whether text is a word of the lexicon.
func (l *lexicon) has(text []rune) bool {
	found := false
	l.words.Each(text, func(length int, _ int32) { found = found || length == len(text) })
	return found
}

// doubtful are characters that are traditional in some words and simplified in others, and how they
// are read as traditional ones.
var doubtful = map[rune]string{'著': "zhe5", '乾': "gan1", '瞭': "liao3", '藉': "jie4"}

// simplified writes a text in simplified characters.
func (l *lexicon) simplified(text []rune) []rune {
	out := slices.Clone(text)
	for i, r := range text {
		if s, ok := l.simple[r]; ok {
			out[i] = s
		}
	}
	for i, r := range text {
		if doubtful[r] != "" && l.asWritten(text, out, i) {
			out[i] = r
		}
	}
	return out
}

// asWritten reports whether the i-th character is part of a word of up to four with it as it is.
func (l *lexicon) asWritten(text, simple []rune, i int) bool {
	for from := max(0, i-3); from <= i; from++ {
		for to := i + 1; to <= min(len(text), from+4); to++ {
			if to-from < 2 {
				continue
			}
			word := slices.Clone(simple[from:to])
			word[i-from] = text[i]
			if l.has(word) {
				return true
			}
		}
	}
	return false
}
