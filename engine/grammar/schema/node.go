package schema

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"quern/engine/grammar"
)

// A node is a regular expression over the characters of a string, before JSON's
// escapes. Nodes are not changed once made and may be shared.
type node struct {
	op   op
	set  ranges // of class
	list []*node
	min  int // of repeat
	max  int // of repeat; -1 is no limit

	table *grammar.Regex // of table
}

type op uint8

const (
	class  op = iota // one character of set; an empty set matches nothing
	concat           // list, one after the other; an empty list matches the empty string
	either           // any of list
	both             // all of list
	except           // all strings but those of list[0]
	repeat           // list[0], min to max times
	begin            // the start of the string; only while a pattern is parsed
	end              // the end of the string; likewise
	table            // what an automaton accepts; of numbers
)

// ranges are characters: pairs of first and last, ascending and apart.
type ranges []rune

var (
	nothing  = &node{op: class}
	empty    = &node{op: concat}
	anyChar  = &node{op: class, set: ranges{0, 0xd7ff, 0xe000, unicode.MaxRune}}
	anything = &node{op: repeat, list: []*node{anyChar}, max: -1}
)

func chars(pairs ...rune) *node { return &node{op: class, set: pairs} }

// word matches s and nothing else.
func word(s string) *node {
	var list []*node
	for _, r := range s {
		list = append(list, chars(r, r))
	}
	return seq(list...)
}

func seq(list ...*node) *node {
	var flat []*node
	for _, n := range list {
		switch {
		case n == nothing:
			return nothing
		case n.op == concat:
			flat = append(flat, n.list...)
		default:
			flat = append(flat, n)
		}
	}
	if len(flat) == 1 {
		return flat[0]
	}
	return &node{op: concat, list: flat}
}

func or(list ...*node) *node {
	var flat []*node
	for _, n := range list {
		switch {
		case n == anything:
			return anything
		case n == nothing || slices.Contains(flat, n):
		case n.op == either:
			flat = append(flat, n.list...)
		default:
			flat = append(flat, n)
		}
	}
	switch len(flat) {
	case 0:
		return nothing
	case 1:
		return flat[0]
	}
	return &node{op: either, list: flat}
}

func and(list ...*node) *node {
	var flat []*node
	for _, n := range list {
		switch {
		case n == nothing:
			return nothing
		case n == anything || slices.Contains(flat, n):
		case n.op == both:
			flat = append(flat, n.list...)
		default:
			flat = append(flat, n)
		}
	}
	switch len(flat) {
	case 0:
		return anything
	case 1:
		return flat[0]
	}
	return &node{op: both, list: flat}
}

func not(n *node) *node {
	switch {
	case n == nothing:
		return anything
	case n == anything:
		return nothing
	case n.op == except:
		return n.list[0]
	}
	return &node{op: except, list: []*node{n}}
}

func times(n *node, min, max int) *node {
	if max == 0 {
		return empty
	}
	if min == 1 && max == 1 {
		return n
	}
	if n == anyChar && min == 0 && max < 0 {
		return anything
	}
	return &node{op: repeat, list: []*node{n}, min: min, max: max}
}

// nullable says whether n matches the empty string.
func (n *node) nullable() bool {
	switch n.op {
	case class:
		return false
	case concat, both:
		return !slices.ContainsFunc(n.list, func(m *node) bool { return !m.nullable() })
	case either:
		return slices.ContainsFunc(n.list, (*node).nullable)
	case except:
		return !n.list[0].nullable()
	case repeat:
		return n.min == 0 || n.list[0].nullable()
	}
	return true
}

// union joins characters in any order.
func union(sets ...ranges) ranges {
	type pair struct{ lo, hi rune }
	var all []pair
	for _, s := range sets {
		for i := 0; i < len(s); i += 2 {
			all = append(all, pair{s[i], s[i+1]})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return int(a.lo) - int(b.lo) })
	var out ranges
	for _, p := range all {
		if k := len(out); k > 0 && p.lo <= out[k-1]+1 {
			out[k-1] = max(out[k-1], p.hi)
		} else {
			out = append(out, p.lo, p.hi)
		}
	}
	return out
}

// others are the characters that s lacks, surrogates excepted.
func (s ranges) others() ranges {
	var out ranges
	next := rune(0)
	for i := 0; i < len(s); i += 2 {
		if s[i] > next {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, next, utf8.MaxRune)
	}
	return out.within(anyChar.set)
}

// within are the characters of both sets.
func (s ranges) within(t ranges) ranges {
	var out ranges
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if lo, hi := max(s[i], t[j]), min(s[i+1], t[j+1]); lo <= hi {
			out = append(out, lo, hi)
		}
		if s[i+1] < t[j+1] {
			i += 2
		} else {
			j += 2
		}
	}
	return out
}
