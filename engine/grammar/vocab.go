package grammar

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"unicode/utf8"
)

// A Vocab is the part of a tokenizer that a grammar needs.
type Vocab struct {
	Bytes   [][]byte // what each token stands for, by id; nil or empty for none
	Special []int32  // control tokens and markers: never text, whatever their Bytes are
	EOG     []int32  // tokens that end a reply; special too
}

// A Trie is a Vocab ready for masks. It is made once a model and safe for
// concurrent use.
type Trie struct {
	text    [][]byte // by id; nil for special tokens and those without bytes
	special []bool
	eog     []int32
	nodes   []trieNode
	parts   [sliceCount]span // the tokens of no slice, then those each slice has more than the one before
	full    [sliceCount][]uint32
	same    []int32 // by id, the next token of the same bytes, or -1; nil if there are none
	longest int     // bytes of the longest token
	walkers sync.Pool
}

// A trieNode is a prefix of tokens. Nodes are in depth-first order, children by
// byte, so a walk is one pass over the array with jumps.
type trieNode struct {
	token int32 // the token that is this prefix, or -1
	size  int32 // nodes of the subtree, this one too: the next sibling is so far on
	depth uint16
	b     byte
}

// A span is a run of nodes below one prefix of depth-1 bytes.
type span struct {
	lo, hi int32
	depth  int32 // of its first node
}

// Slices are sets of tokens made of whole plain characters only, at most so many:
// where a lexeme allows any such text, its slice is allowed without a walk. Each
// slice contains the ones before.
const sliceCount = 4

var sliceChars = [sliceCount]int{0, 10, 30, math.MaxInt32} // slice 0 is empty

// plain reports whether a token may be in a slice: characters that strings of most
// languages take as they are. Double quotes, backslashes and control characters are not.
func plain(text []byte) (chars int, ok bool) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 || !plainRune(r) {
			return 0, false
		}
		text = text[n:]
		chars++
	}
	return chars, chars > 0
}

func plainRune(r rune) bool {
	return r >= ' ' && r != '"' && r != '\\' && r != 0x7F
}

const (
	maxTokens     = 1 << 22
	maxTokenBytes = 1 << 14
)

// NewTrie sorts a vocabulary. It keeps the slices of v.Bytes.
func NewTrie(v Vocab) (*Trie, error) {
	n := len(v.Bytes)
	if n == 0 || n > maxTokens {
		return nil, fmt.Errorf("grammar: a vocabulary of %d tokens; want 1 to %d", n, maxTokens)
	}
	t := &Trie{text: make([][]byte, n), special: make([]bool, n)}
	for _, list := range [][]int32{v.Special, v.EOG} {
		for _, id := range list {
			if id < 0 || int(id) >= n {
				return nil, fmt.Errorf("grammar: special token %d of a vocabulary of %d", id, n)
			}
			t.special[id] = true
		}
	}
	t.eog = slices.Clone(v.EOG)
	var members [sliceCount][]int32
	for id, text := range v.Bytes {
		if t.special[id] || len(text) == 0 {
			continue
		}
		if len(text) > maxTokenBytes {
			return nil, fmt.Errorf("grammar: token %d has %d bytes; at most %d are supported", id, len(text), maxTokenBytes)
		}
		t.text[id] = text
		t.longest = max(t.longest, len(text))
		part := 0
		if chars, ok := plain(text); ok {
			part = 1
			for chars > sliceChars[part] {
				part++
			}
		}
		members[part] = append(members[part], int32(id))
	}
	for i, list := range members {
		t.parts[i] = t.insert(list)
		t.full[i] = make([]uint32, t.Words())
		if i > 0 {
			copy(t.full[i], t.full[i-1])
			for _, id := range list {
				t.full[i][id>>5] |= 1 << (id & 31)
			}
		}
	}
	return t, nil
}

// insert appends the trie of the tokens and returns the span of its top.
func (t *Trie) insert(ids []int32) span {
	slices.SortFunc(ids, func(a, b int32) int {
		if c := bytes.Compare(t.text[a], t.text[b]); c != 0 {
			return c
		}
		return int(a) - int(b)
	})
	lo := int32(len(t.nodes))
	var way []int32 // nodes of the last token's prefixes
	var last []byte
	close := func(depth int) {
		for _, i := range way[depth:] {
			t.nodes[i].size = int32(len(t.nodes)) - i
		}
		way = way[:depth]
	}
	for i, id := range ids {
		text := t.text[id]
		if i > 0 && bytes.Equal(text, last) {
			t.alike(ids[i-1], id)
			continue
		}
		common := 0
		for common < len(last) && last[common] == text[common] {
			common++
		}
		close(common)
		for d := common; d < len(text); d++ {
			way = append(way, int32(len(t.nodes)))
			t.nodes = append(t.nodes, trieNode{token: -1, depth: uint16(d + 1), b: text[d]})
		}
		t.nodes[len(t.nodes)-1].token = id
		last = text
	}
	close(0)
	return span{lo, int32(len(t.nodes)), 1}
}

// alike notes that two tokens have the same bytes.
func (t *Trie) alike(a, b int32) {
	if t.same == nil {
		t.same = slices.Repeat([]int32{-1}, len(t.text))
	}
	t.same[a] = b
}

// Tokens returns the size of the vocabulary.
func (t *Trie) Tokens() int { return len(t.text) }

// Words returns the length of a mask: one bit a token, in words of 32.
func (t *Trie) Words() int { return (len(t.text) + 31) / 32 }
