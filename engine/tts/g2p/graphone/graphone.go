// Package graphone guesses how a word is said from how it is spelled: a joint
// n-gram model over pairs of one letter and the phonemes it stands for.
//
// Bisani & Ney, "Joint-sequence models for grapheme-to-phoneme conversion",
// 2008, with one letter and at most three phonemes a pair.
package graphone

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	order  = 5  // graphones an n-gram holds
	beam   = 12 // hypotheses kept after each letter
	chunk  = 3  // most phonemes one letter stands for
	maxLen = 64 // letters Decode takes
)

// A Pair is a word of the letters a to z and its phonemes. A stress mark and
// the symbol after it are one phoneme, every other code point is one.
type Pair struct{ Word, Phones string }

// A Model holds n-gram counts of graphones. It is not changed by use.
type Model struct {
	letter []byte   // of graphone g; 0 is the end of a word
	phones []string // of graphone g
	first  [27]int32
	nodes  []node // nodes[0] is the empty history; children lie together
}

// A node is an n-gram; its children are the n-grams one graphone longer.
type node struct {
	g     uint16
	n     uint16 // children
	child int32  // the first of them
	count float32
	total float32 // counts of all that followed, pruned ones too
	back  float32 // the share of total that shorter histories decide
}

// discount is taken from every count kept and given to shorter histories.
const discount = 0.7

type hypothesis struct {
	score float64
	at    [order]int32 // nodes of the histories of 0 to order-1 graphones; -1 is unseen
	g     uint16
	from  int32 // in the beam of the letter before
}

// Decode returns the likeliest phonemes of word, lower-case letters a to z. It
// reports false for other letters, an empty word and one of more than 64
// letters.
func (m *Model) Decode(word string) (string, bool) {
	if len(word) == 0 || len(word) > maxLen {
		return "", false
	}
	steps := make([][]hypothesis, 0, len(word)+2)
	start := hypothesis{at: [order]int32{0, -1, -1, -1, -1}}
	start.at[1] = m.child(0, 0) // words begin as they end
	steps = append(steps, []hypothesis{start})
	var probs []float64
	for i := 0; i <= len(word); i++ {
		l := 0
		if i < len(word) {
			if l = int(word[i]) - 'a' + 1; l < 1 || l > 26 {
				return "", false
			}
		}
		lo, hi := m.span(l)
		if lo == hi {
			return "", false
		}
		last := steps[len(steps)-1]
		next := make([]hypothesis, 0, len(last)*(hi-lo))
		for f := range last {
			h := &last[f]
			probs = m.following(probs[:0], h, lo, hi)
			for k, p := range probs {
				next = append(next, hypothesis{score: h.score + math.Log(p), at: h.at, g: uint16(lo + k), from: int32(f)})
			}
		}
		slices.SortFunc(next, func(a, b hypothesis) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.from, b.from), cmp.Compare(a.g, b.g))
		})
		kept := next[:0]
		for _, h := range next {
			old := h.at
			h.at = [order]int32{0}
			for k := 1; k < order; k++ {
				h.at[k] = m.child(old[k-1], h.g)
			}
			same := func(o hypothesis) bool { return o.g == h.g && o.at == h.at }
			if slices.ContainsFunc(kept, same) {
				continue
			}
			if kept = append(kept, h); len(kept) == beam {
				break
			}
		}
		steps = append(steps, kept)
	}
	parts := make([]string, len(word))
	at := steps[len(steps)-1][0].from
	for i := len(word) - 1; i >= 0; i-- {
		h := steps[i+1][at]
		parts[i] = m.phones[h.g]
		at = h.from
	}
	out := strings.Join(parts, "")
	return out, out != ""
}

// span returns the graphones of letter l, 0 being the end.
func (m *Model) span(l int) (lo, hi int) {
	if l == 0 {
		return 0, 1
	}
	hi = len(m.letter)
	if l < 26 {
		hi = int(m.first[l+1])
	}
	return int(m.first[l]), hi
}

// following appends the probability of each graphone in [lo, hi) after h:
// absolute discounting, every order interpolated with the next shorter one.
func (m *Model) following(p []float64, h *hypothesis, lo, hi int) []float64 {
	for range hi - lo {
		p = append(p, 1e-7)
	}
	for _, at := range h.at {
		if at < 0 {
			continue
		}
		n := &m.nodes[at]
		if n.n == 0 || n.total == 0 {
			continue
		}
		kids := m.nodes[n.child : int(n.child)+int(n.n)]
		for i := range p {
			p[i] *= float64(n.back)
		}
		i, _ := slices.BinarySearchFunc(kids, uint16(lo), func(k node, g uint16) int { return cmp.Compare(k.g, g) })
		for ; i < len(kids) && int(kids[i].g) < hi; i++ {
			p[int(kids[i].g)-lo] += max(float64(kids[i].count)-discount, 0) / float64(n.total)
		}
	}
	return p
}

// child returns the node of graphone g after node at, or -1.
func (m *Model) child(at int32, g uint16) int32 {
	if at < 0 {
		return -1
	}
	n := &m.nodes[at]
	kids := m.nodes[n.child : int(n.child)+int(n.n)]
	i, ok := slices.BinarySearchFunc(kids, g, func(k node, g uint16) int { return cmp.Compare(k.g, g) })
	if !ok {
		return -1
	}
	return n.child + int32(i)
}
