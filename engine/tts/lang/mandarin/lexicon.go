package mandarin

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"quern/engine/tts/lang/internal/wordlist"
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
	words    *wordlist.List // no character of one is above U+FFFF
	weights  []uint8        // quarters of the binary logarithm of how common a word is
	odd      []int32        // words with readings of their own, in order
	said     []Syllable     // those of the words in odd
	saidAt   []int32        // where in said those of a word in odd begin
}

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
	l := &lexicon{readings: make(map[rune]Syllable, len(chars)), simple: make(map[rune]rune, len(simple)), words: wordlist.New(), weights: make([]uint8, len(weights))}
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
	var word []uint16
	for i := range common {
		if common[i] > uint64(len(word)) || more[i] > uint64(len(text)) || common[i]+more[i] > longest || common[i]+more[i] < 1 {
			return nil, fmt.Errorf("the lexicon of Mandarin is damaged at word %d", i)
		}
		word = word[:common[i]]
		for _, r := range text[:more[i]] {
			word = append(word, uint16(r))
		}
		text = text[more[i]:]
		l.words.Add(word)
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
	l.words.Clip()
	return l, nil
}

// own returns the readings of a word, or nil where they are the usual ones.
func (l *lexicon) own(word int32, length int) []Syllable {
	k, ok := slices.BinarySearch(l.odd, word)
	if !ok {
		return nil
	}
	return l.said[l.saidAt[k]:][:length]
}
