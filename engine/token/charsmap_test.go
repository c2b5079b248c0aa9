package token_test

import (
	"encoding/binary"
	"maps"
	"slices"
)

// charsmap compiles replacements into SentencePiece's form: see charsmap.go.
func charsmap(replace map[string]string) []byte {
	var texts []byte
	units := make([]uint32, 1<<14)
	used := make([]bool, len(units))
	used[0] = true
	bases := make(map[uint32]bool) // no two units share one: labels alone tell children apart
	// place lays out the children of the unit at pos, which is reached by
	// the keys listed, all starting with the same depth bytes.
	var place func(pos uint32, keys []string, depth int)
	place = func(pos uint32, keys []string, depth int) {
		groups := make(map[byte][]string)
		for _, k := range keys {
			label := byte(0)
			if len(k) > depth {
				label = k[depth]
			}
			groups[label] = append(groups[label], k)
		}
		labels := slices.Sorted(maps.Keys(groups))
		base := uint32(256)
		for ; bases[base] || slices.ContainsFunc(labels, func(b byte) bool { return used[base^uint32(b)] }); base++ {
		}
		bases[base] = true
		units[pos] |= (base ^ pos) << 10
		for _, b := range labels {
			used[base^uint32(b)] = true
		}
		for _, b := range labels {
			at := base ^ uint32(b)
			if b == 0 {
				units[pos] |= 1 << 8
				units[at] = 1<<31 | uint32(len(texts))
				texts = append(append(texts, replace[groups[b][0]]...), 0)
				continue
			}
			units[at] = uint32(b)
			place(at, groups[b], depth+1)
		}
	}
	place(0, slices.Sorted(maps.Keys(replace)), 0)
	blob := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		blob = binary.LittleEndian.AppendUint32(blob, u)
	}
	return append(blob, texts...)
}

// replacements are a sample of what NFKC does, and of what it does not.
var replacements = map[string]string{
	"ﬁ": "fi", "Ａ": "A", "１": "1", "\u3000": " ", "\t": " ", "\n": " ", "e\u0301": "é",
	"½": "1⁄2", "㍿": "株式会社", "\u200b": "", "…": "...", "\u00a0": " ", "a\u0308": "ä", "e\u0301\u0301": "X",
}
