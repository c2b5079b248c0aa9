package japanese

import (
	"context"
	"math"
	"slices"
)

// A Kind is what a word is, as far as reading needs it.
type Kind uint8

// Kinds of words. The order is that of the lexicon's file.
const (
	Border    Kind = iota // begins and ends a text
	Noun                  // and all that nothing else says
	Name                  // of people, places and firms
	Number                // a numeral in kanji
	Counter               // what numbers count: 本, 円
	Suffix                // of nouns
	Prefix                // of nouns and numbers
	Verb                  // and adjectives
	Auxiliary             // た, ます, れる: what verbs end in
	Joining               // て, ば, ながら
	Particle
	Other
	allKinds
)

// A node is a word that ends where it is kept.
type node struct {
	cost   int32
	before int32 // node
	next   int32 // node that ends at the same place
	start  int32
	class  uint16
	form   int32 // of the lexicon, or one of those below
}

// Forms that are not in the lexicon.
const (
	asWritten = -1 // kana that are no word
	given     = -2
)

// Costs of words that are not in the lexicon: those of MeCab's unknown nouns in katakana, and of
// characters alone.
const (
	costOfKatakana = 8400
	costOfOne      = 15000
)

// longestUnknown bounds a word in katakana that is not in the lexicon.
const longestUnknown = 32

// cut returns the words of a text, each as a node from its start to the start of the next, that cost the
// least together. A word does not lie across a border. Time and memory are linear in the length:
// of words that end at one place only the cheapest of each class is kept.
func (l *lexicon) cut(ctx context.Context, chars []rune, border func(i int) bool) ([]node, error) {
	nodes := []node{{before: -1, next: -1, class: l.first[Border]}}
	ends := make([]int32, len(chars)+1) // the last node that ends at a place
	for i := range ends {
		ends[i] = -1
	}
	ends[0] = 0
	w, _ := l.tables.Get().(*tables)
	if w == nil {
		w = &tables{kept: make([]mark, len(l.kinds)), ways: make([]mark, len(l.kinds))}
	}
	defer func() {
		w.from += int64(len(chars))
		l.tables.Put(w)
	}()
	here := []int32{} // the cheapest node of each class that ends here
	katakana := katakanaRuns(chars, border)
	for i := range chars {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ends[i] < 0 {
			continue
		}
		here = here[:0]
		place := w.from + int64(i) + 1
		for k := ends[i]; k >= 0; k = nodes[k].next {
			m := &w.kept[nodes[k].class]
			if m.place != place {
				*m = mark{place: place, node: int32(len(here))}
				here = append(here, k)
			} else if nodes[k].cost < nodes[here[m.node]].cost {
				here[m.node] = k
			}
		}
		add := func(length int, class uint16, cost, form int32) {
			m := &w.ways[class]
			if m.place != place {
				*m = mark{place, math.MaxInt32, -1}
				pairs := l.pairs[int(class)*len(l.kinds):][:len(l.kinds)]
				for _, k := range here {
					if c := nodes[k].cost + int32(pairs[nodes[k].class]); c < m.cost {
						m.cost, m.node = c, k
					}
				}
			}
			nodes = append(nodes, node{m.cost + cost, m.node, ends[i+length], int32(i), class, form})
			ends[i+length] = int32(len(nodes) - 1)
		}
		if chars[i] == Given {
			// A number to what stands before it, what it counts to what follows.
			add(1, l.first[Number], 0, given)
			nodes[len(nodes)-1].class = l.first[Counter]
			continue
		}
		room := 1
		for room < min(longest, len(chars)-i) && !border(i+room) && chars[i+room] != Given {
			room++
		}
		known := false
		l.words.Each(chars[i:i+room], func(length int, word int32) {
			for f := l.forms[word]; f < l.forms[word+1]; f++ {
				add(length, l.class[f], int32(l.cost[f]), f)
				known = true
			}
		})
		if n := katakana[i]; n > 0 {
			add(n, l.first[Noun], costOfKatakana, asWritten)
		} else if !known {
			add(1, l.first[Noun], costOfOne, asWritten)
		}
	}
	best, at := int32(math.MaxInt32), int32(-1)
	for k := ends[len(chars)]; k >= 0; k = nodes[k].next {
		if c := nodes[k].cost + int32(l.pairs[int(l.first[Border])*len(l.kinds)+int(nodes[k].class)]); c < best {
			best, at = c, k
		}
	}
	var out []node
	for ; at > 0; at = nodes[at].before {
		out = append(out, nodes[at])
	}
	slices.Reverse(out)
	return out, nil
}

// A mark says of a class what was found at a place, counted from 1.
type mark struct {
	place      int64
	cost, node int32
}

// tables are what cut notes of each class. They serve one text after another: places are counted on
// from one to the next, so nothing has to be cleared.
type tables struct {
	kept []mark // where in the list of nodes that end here the one of a class is
	ways []mark // the node before a word of a class here, with what both cost
	from int64  // places of the texts before
}

// katakanaRuns returns for each place how many characters in katakana stand there, up to a border.
func katakanaRuns(chars []rune, border func(i int) bool) []int {
	out := make([]int, len(chars)+1)
	for i := len(chars) - 1; i >= 0; i-- {
		if isKatakana(chars[i]) {
			out[i] = 1
			if i+1 < len(chars) && !border(i+1) {
				out[i] = min(longestUnknown, out[i+1]+1)
			}
		}
	}
	return out[:len(chars)]
}

func isKatakana(r rune) bool { return r >= 'ァ' && r <= 'ヺ' || r == 'ー' }
