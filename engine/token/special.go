package token

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/token/internal/pretoken"
)

// A matcher finds special tokens in text: at the leftmost place where any
// starts, the longest that starts there.
type matcher struct {
	trie   *trie
	strips map[ID]strip
}

// A strip says on which sides a special token swallows white space, and
// whether it has to stand apart from words. wide means white space beyond
// ASCII too.
type strip struct{ left, right, word, wide bool }

// newMatcher returns nil if ids is empty.
func newMatcher(tokens []string, ids []ID, strips map[ID]strip) *matcher {
	if len(ids) == 0 {
		return nil
	}
	return &matcher{newTrie(tokens, ids), strips}
}

// next finds the first special token in s at or after from. accept, when not
// nil, may turn a match down: the next longest at its place is tried then.
func (m *matcher) next(s string, from int, accept func(id ID, start, end int) bool) (id ID, start, end int) {
	if m == nil {
		return None, len(s), len(s)
	}
	for i := from; i < len(s); i++ {
		if m.trie.root[s[i]] == 0 {
			continue
		}
		if accept == nil {
			if id, n := longest(m.trie, s[i:]); id != None && (!m.strips[id].word || apart(s, i, i+n)) {
				return id, i, i + n
			}
			continue
		}
		id, end := None, 0
		at := int32(0)
		for k := i; k < len(s); k++ {
			if at = m.trie.child(at, s[k]); at == 0 {
				break
			}
			if t := m.trie.id[at]; t != None && accept(t, i, k+1) && (!m.strips[t].word || apart(s, i, k+1)) {
				id, end = t, k+1
			}
		}
		if id != None {
			return id, i, end
		}
	}
	return None, len(s), len(s)
}

// isBlank reports what C calls white space, which is what strips swallow.
func isBlank(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

// around returns what a token at s[start:end] takes up with the white space it
// swallows. What is before at is taken already.
func (m *matcher) around(id ID, s string, at, start, end int) (int, int) {
	x := m.strips[id]
	if x.wide {
		if x.left {
			start = at + len(strings.TrimRightFunc(s[at:start], unicode.IsSpace))
		}
		if x.right {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		return start, end
	}
	for x.left && start > at && isBlank(s[start-1]) {
		start--
	}
	for x.right && end < len(s) && isBlank(s[end]) {
		end++
	}
	return start, end
}

// apart reports whether no word character is right before or after s[i:j].
func apart(s string, i, j int) bool {
	t := pretoken.Classes()
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return (i == 0 || t.Of(r)&pretoken.WordChar == 0) && t.Peek(s, j)&pretoken.WordChar == 0
}
