package token

import (
	"slices"
	"strings"
)

// A trie finds the tokens that start at a place in a text. Nodes are numbered
// breadth first, so the children of node n are nodes first[n] to first[n+1]-1,
// ordered by label. Its size is bounded by the bytes of the tokens in it.
type trie struct {
	root  [256]int32 // children of the root, 0 where there is none
	label []byte
	first []int32
	id    []ID // None where no token ends
}

// newTrie builds a trie of the tokens listed, which are distinct and not empty.
func newTrie(tokens []string, ids []ID) *trie {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b ID) int { return strings.Compare(tokens[a], tokens[b]) })

	// A span is the part of ids whose tokens go through a node.
	type span struct{ lo, hi, depth int32 }
	queue := []span{{0, int32(len(ids)), 0}}
	t := &trie{label: []byte{0}}
	for len(queue) > 0 {
		var next []span
		for _, q := range queue {
			end := None
			if q.lo < q.hi && len(tokens[ids[q.lo]]) == int(q.depth) && q.depth > 0 {
				end = ids[q.lo]
				q.lo++
			}
			t.id = append(t.id, end)
			t.first = append(t.first, int32(len(t.label)))
			for lo := q.lo; lo < q.hi; {
				b := tokens[ids[lo]][q.depth]
				hi := lo + 1
				for hi < q.hi && tokens[ids[hi]][q.depth] == b {
					hi++
				}
				t.label = append(t.label, b)
				next = append(next, span{lo, hi, q.depth + 1})
				lo = hi
			}
		}
		queue = next
	}
	t.first = append(t.first, int32(len(t.label)))
	for n := t.first[0]; n < t.first[1]; n++ {
		t.root[t.label[n]] = n
	}
	return t
}

// child returns the child of node n along b, or 0.
func (t *trie) child(n int32, b byte) int32 {
	if n == 0 {
		return t.root[b]
	}
	lo, hi := t.first[n], t.first[n+1]
	for hi-lo > 8 {
		mid := (lo + hi) / 2
		if t.label[mid] <= b {
			lo = mid
		} else {
			hi = mid
		}
	}
	for ; lo < hi; lo++ {
		if t.label[lo] == b {
			return lo
		}
	}
	return 0
}

// longest returns the longest token at the start of s and its length.
func longest[T string | []byte](t *trie, s T) (id ID, n int) {
	id = None
	at := int32(0)
	for i := range len(s) {
		if at = t.child(at, s[i]); at == 0 {
			break
		}
		if t.id[at] != None {
			id, n = t.id[at], i+1
		}
	}
	return id, n
}
