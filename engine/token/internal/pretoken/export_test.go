package pretoken

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// splitters are those of all pre-tokenizers, by name.
var splitters = sync.OnceValue(func() map[string]*Splitter {
	all := make(map[string]*Splitter)
	for name, p := range All {
		var err error
		if all[name], err = New(p.Patterns); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
	}
	return all
})

// Pieces returns what a pre-tokenizer cuts text into.
func Pieces(pre, text string) (pieces []string) {
	var c Cursor
	c.Begin(splitters()[pre], text)
	for piece := c.Next(); piece != ""; piece = c.Next() {
		pieces = append(pieces, piece)
	}
	return pieces
}

// PieceSteps counts the characters that cutting a text reads.
func PieceSteps(pre, text string) int {
	var c Cursor
	c.Begin(splitters()[pre], text)
	for c.Next() != "" {
	}
	return c.Steps
}

// SimplePieces is what the oracle cuts text into.
func SimplePieces(pre, text string) []string {
	pieces := []string{text}
	for _, pass := range oracles[pre] {
		var next []string
		for _, s := range pieces {
			pass(Classes(), s, func(piece string) { next = append(next, piece) })
		}
		pieces = next
	}
	return pieces
}

// Pretokenizers returns the names in the table, sorted.
func Pretokenizers() []string {
	return slices.Sorted(maps.Keys(All))
}

// DistinctPretokenizers returns one name for every list of patterns.
func DistinctPretokenizers() (names []string) {
	seen := make(map[string]bool)
	for _, name := range Pretokenizers() {
		if key := strings.Join(All[name].Patterns, "\n"); !seen[key] {
			seen[key] = true
			names = append(names, name)
		}
	}
	return names
}
