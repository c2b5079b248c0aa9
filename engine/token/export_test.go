package token

import (
	"maps"
	"slices"
)

// Pieces returns what a pre-tokenizer cuts text into.
func Pieces(pre, text string) (pieces []string, err error) {
	p, err := pretokenizerOf(pre)
	if err != nil {
		return nil, err
	}
	pieces = []string{text}
	for _, pass := range p.passes {
		var next []string
		for _, s := range pieces {
			pass(classes(), s, func(piece string) { next = append(next, piece) })
		}
		pieces = next
	}
	return pieces, nil
}

// Pretokenizers returns the names in the table, sorted.
func Pretokenizers() []string {
	return slices.Sorted(maps.Keys(pretokenizers))
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
