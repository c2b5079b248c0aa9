package schema

import (
	"fmt"
	"math/big"
	"slices"

	"quern/engine/grammar"
	"quern/engine/grammar/regex"
)

// A node is a regular expression over the characters of a string, before JSON's
// escapes. Nodes are not changed once made and may be shared.
type node struct {
	op   op
	set  grammar.RuneSet // of class
	list []*node
	min  int // of repeat
	max  int // of repeat; grammar.Unbounded is no limit

	source string         // of pattern and verbatim
	text   *grammar.Regex // of table and pattern, in UTF-8

	figures int // of table: digits of the number it is made of
	divisor int // of table, if it is one, without its point

	automaton *grammar.Automaton // of table
	number    *big.Rat           // the one that all texts mean; nil if they differ
}

type op uint8

const (
	class    op = iota // one character of set; an empty set matches nothing
	concat             // list, one after the other; an empty list matches the empty string
	either             // any of list
	both               // all of list
	except             // all strings but those of list[0]
	repeat             // list[0], min to max times
	pattern            // the strings in which the expression source is found
	table              // what an automaton accepts; of numbers
	verbatim           // source itself
)

var (
	nothing  = &node{op: class}
	empty    = &node{op: concat}
	anyChar  = &node{op: class, set: grammar.AllRunes()}
	anything = &node{op: repeat, list: []*node{anyChar}, max: grammar.Unbounded}
)

// chars matches one character of some ranges: pairs of first and last.
func chars(pairs ...rune) *node {
	var list []grammar.RuneRange
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, grammar.RuneRange{Lo: pairs[i], Hi: pairs[i+1]})
	}
	return &node{op: class, set: grammar.Runes(list...)}
}

// parsePattern returns the strings in which the expression is found.
func parsePattern(source string) (*node, error) {
	r, err := regex.Parse(source, regex.Options{Search: true})
	if err != nil {
		return nil, fmt.Errorf("%w in %.200q", err, source)
	}
	return &node{op: pattern, source: source, text: r}, nil
}

// word matches s and nothing else.
func word(s string) *node {
	if s == "" {
		return empty
	}
	return &node{op: verbatim, source: s}
}

// words are those that n matches; ok says that n is nothing else.
func (n *node) words() (words map[string]*node, ok bool) {
	list := []*node{n}
	if n.op == either {
		list = n.list
	}
	words = make(map[string]*node, len(list))
	for _, m := range list {
		if m.op != verbatim {
			return nil, false
		}
		words[m.source] = m
	}
	return words, true
}

// known says that n is among the first of list. Twice the same does no harm.
func known(list []*node, n *node) bool {
	return slices.Contains(list[:min(len(list), 64)], n)
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

func or(list ...*node) *node  { return gathered(either, list, anything, nothing) }
func and(list ...*node) *node { return gathered(both, list, nothing, anything) }

// gathered joins nodes by op. One that is all settles it, those that are none do not count.
func gathered(op op, list []*node, all, none *node) *node {
	var flat []*node
	for _, n := range list {
		switch {
		case n == all:
			return all
		case n == none || known(flat, n):
		case n.op == op:
			flat = append(flat, n.list...)
		default:
			flat = append(flat, n)
		}
	}
	switch len(flat) {
	case 0:
		return none
	case 1:
		return flat[0]
	}
	return &node{op: op, list: flat}
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
