package token

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// splitters are those of all pre-tokenizers, by name.
var splitters = sync.OnceValue(func() map[string]*splitter {
	all := make(map[string]*splitter)
	for name, p := range pretokenizers {
		var err error
		if all[name], err = newSplitter(p.patterns); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
	}
	return all
})

// Pieces returns what a pre-tokenizer cuts text into.
func Pieces(pre, text string) (pieces []string) {
	var c cursor
	c.begin(splitters()[pre], text)
	for piece := c.next(); piece != ""; piece = c.next() {
		pieces = append(pieces, piece)
	}
	return pieces
}

// PieceSteps counts the characters that cutting a text reads.
func PieceSteps(pre, text string) int {
	var c cursor
	c.begin(splitters()[pre], text)
	for c.next() != "" {
	}
	return c.steps
}

// SimplePieces is what the oracle cuts text into.
func SimplePieces(pre, text string) []string {
	pieces := []string{text}
	for _, pass := range oracles[pre] {
		var next []string
		for _, s := range pieces {
			pass(classes(), s, func(piece string) { next = append(next, piece) })
		}
		pieces = next
	}
	return pieces
}

// Pretokenizers returns the names in the table, sorted.
func Pretokenizers() []string {
	return slices.Sorted(maps.Keys(pretokenizers))
}

// DistinctPretokenizers returns one name for every list of patterns.
func DistinctPretokenizers() (names []string) {
	seen := make(map[string]bool)
	for _, name := range Pretokenizers() {
		if key := strings.Join(pretokenizers[name].patterns, "\n"); !seen[key] {
			seen[key] = true
			names = append(names, name)
		}
	}
	return names
}

// MergeBoth merges the bytes of word with the heap and by scanning.
func MergeBoth(v *Vocab, word string) (heap, scan []ID) {
	m := v.model.(*bpe)
	var a []piece
	for i := range len(word) {
		a = append(a, piece{start: int32(i), end: int32(i) + 1, id: m.bytes[word[i]]})
	}
	sc := &scratch{}
	ids := func(a []piece) (ids []ID) {
		for _, p := range a {
			ids = append(ids, p.id)
		}
		return ids
	}
	b := append([]piece(nil), a...)
	return ids(sc.mergeLong(m, nil, a)), ids(sc.mergeShort(m, nil, b))
}
