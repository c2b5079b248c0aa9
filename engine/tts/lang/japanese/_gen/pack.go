package main

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"quern/engine/tts/lang/japanese"
)

// pack writes the lexicon as the program reads it.
func (d *dictionary) pack() ([]byte, error) {
	words := make([][]rune, 0, len(d.words))
	letters, used := map[rune]int{}, map[int]int{}
	for w, forms := range d.words {
		words = append(words, []rune(w))
		for _, r := range w {
			letters[r]++
		}
		for _, f := range forms {
			used[f.class]++
		}
	}
	slices.SortFunc(words, func(a, b []rune) int { return slices.Compare(a, b) })
	used[0] += 0 // the border
	for class, kind := range d.kinds {
		if kind == japanese.Number || kind == japanese.Counter {
			used[class] += 0
		}
	}
	alphabet, classes := commonest(letters), commonest(used)
	letterAt, classAt := map[rune]int{}, map[int]int{}
	var sections [10][]byte
	put := func(section int, v int) {
		sections[section] = binary.AppendUvarint(sections[section], uint64(v))
	}
	signed := func(v int) int { return (v << 1) ^ (v >> 63) }
	for i, r := range alphabet {
		letterAt[r] = i
		put(0, int(r))
	}
	for i, c := range classes {
		classAt[c] = i
		put(1, int(d.kinds[c]))
	}
	before := 0
	for _, right := range classes {
		for _, left := range classes {
			v := rounded(int(d.pairs[right*len(d.kinds)+left]))
			put(2, signed(v-before))
			before = v
		}
	}
	var last []rune
	for _, w := range words {
		k := 0
		for k < min(len(w), len(last)) && w[k] == last[k] {
			k++
		}
		put(3, k)
		put(4, len(w)-k)
		for _, r := range w[k:] {
			put(5, letterAt[r])
		}
		forms := d.words[string(w)]
		put(6, len(forms))
		for _, f := range forms {
			put(7, classAt[f.class])
			put(8, signed(rounded(f.cost)))
			for _, r := range f.kana {
				sections[9] = append(sections[9], byte(r-'ァ'+1))
			}
			sections[9] = append(sections[9], 0)
		}
		last = w
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		if _, err := w.Write(append(binary.AppendUvarint(nil, uint64(len(s))), s...)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// commonest returns the keys of counts, those with the most first.
func commonest[K cmp.Ordered](counts map[K]int) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
}

// rounded is a cost in the units of the file.
func rounded(cost int) int {
	return max(-1000, min(1000, int(math.Round(float64(cost)/japanese.Unit))))
}
