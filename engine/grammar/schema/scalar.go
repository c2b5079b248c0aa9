package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A domain is a kind of value whose valid members are an expression: strings, numbers,
// and the three words null, true and false, of which all are valid or none. There the
// connectives of schemas are those of expressions, complements among them.
type domain struct {
	kind kind
	own  func(c *compiler, s *schema) (*node, error) // what keywords of s itself leave; nothing is said of type
}

var domains = struct{ str, number, null, yes, no *domain }{
	str:    &domain{str, ownString},
	number: &domain{number, ownNumber},
	null:   &domain{null, ownWord(null, false)},
	yes:    &domain{boolean, ownWord(boolean, true)},
	no:     &domain{boolean, ownWord(boolean, false)},
}

// A question is what a schema leaves of a domain.
type question struct {
	s *schema
	d *domain
}

// leaves returns the members of d that are valid under s.
func (c *compiler) leaves(s *schema, d *domain) (*node, error) {
	q := question{s, d}
	if n, ok := c.answers[q]; ok {
		if n == nil {
			return nil, c.loop(s)
		}
		return n, nil
	}
	c.answers[q] = nil
	n, err := c.leavesNow(s, d)
	if err != nil {
		delete(c.answers, q)
		return nil, s.through(err)
	}
	c.answers[q] = n
	return n, nil
}

// loop is the error of a schema that is valid where itself is, named where the way to
// it began.
func (c *compiler) loop(s *schema) error {
	return &Error{Pointer: s.at + "/$ref", Keyword: "$ref", Reason: endless}
}

const endless = "refers to itself and to nothing else"

// through is an error on the way back through s.
func (s *schema) through(err error) error {
	if e, ok := err.(*Error); ok && e.Reason == endless && s.ref != nil {
		e.Pointer = s.at + "/$ref"
	}
	return err
}

func (c *compiler) leavesNow(s *schema, d *domain) (*node, error) {
	if s.kind == 0 {
		if s.bool {
			return anything, nil
		}
		return nothing, nil
	}
	if s.kind&d.kind == 0 {
		return nothing, nil
	}
	n, err := d.own(c, s)
	if err != nil {
		return nil, err
	}
	all := []*node{n}
	get := func(t *schema) *node {
		n, e := c.leaves(t, d)
		if e != nil && err == nil {
			err = e
		}
		return n
	}
	list := func(ts []*schema) (ns []*node) {
		for _, t := range ts {
			ns = append(ns, get(t))
		}
		return ns
	}
	if s.ref != nil {
		all = append(all, get(s.ref))
	}
	all = append(all, list(s.allOf)...)
	any, one := list(s.anyOf), list(s.oneOf)
	var no, when, then, otherwise *node
	if s.not != nil {
		no = get(s.not)
	}
	if s.when != nil {
		when, then, otherwise = get(s.when), anything, anything
		if s.then != nil {
			then = get(s.then)
		}
		if s.else_ != nil {
			otherwise = get(s.else_)
		}
	}
	if err != nil {
		return nil, err
	}
	if any != nil {
		all = append(all, or(any...))
	}
	if one != nil {
		all = append(all, exactlyOne(one))
	}
	if no != nil {
		all = append(all, not(no))
	}
	if when != nil {
		all = append(all, or(and(when, then), and(not(when), otherwise)))
	}
	return and(all...), nil
}

// exactlyOne is what one of the list matches and no other: what any matches, but not
// what two of them do. Halves are asked first, so that the parts stay few and flat.
func exactlyOne(list []*node) *node {
	var count func(list []*node) (any, two *node)
	count = func(list []*node) (any, two *node) {
		if len(list) == 1 {
			return list[0], nothing
		}
		half := len(list) / 2
		a, twoA := count(list[:half])
		b, twoB := count(list[half:])
		return or(a, b), or(twoA, twoB, shared(a, b))
	}
	any, two := count(list)
	return and(any, not(two))
}

// shared is what a and b both match. Words are compared here, which spares their
// intersection.
func shared(a, b *node) *node {
	x, ok := a.words()
	y, both := b.words()
	if !ok || !both {
		return and(a, b)
	}
	var list []*node
	for s, n := range x {
		if y[s] != nil {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(m, n *node) int { return strings.Compare(m.source, n.source) })
	return or(list...)
}

func ownWord(k kind, yes bool) func(*compiler, *schema) (*node, error) {
	return func(_ *compiler, s *schema) (*node, error) {
		ok := s.values == nil || slices.ContainsFunc(s.values, func(v *value) bool {
			return v.kind == k && v.yes == yes
		})
		if ok {
			return anything, nil
		}
		return nothing, nil
	}
}

func ownString(_ *compiler, s *schema) (*node, error) {
	all := []*node{}
	if s.minLength.n > 0 || s.maxLength.set {
		max := -1
		if s.maxLength.set {
			max = s.maxLength.n
		}
		if max >= 0 && max < s.minLength.n {
			return nothing, nil
		}
		all = append(all, times(anyChar, s.minLength.n, max))
	}
	if s.pattern != nil {
		all = append(all, s.pattern)
	}
	if s.format != "" {
		all = append(all, formats[s.format]())
	}
	if s.values != nil {
		var words []*node
		for _, v := range s.values {
			if v.kind == str {
				words = append(words, word(v.text))
			}
		}
		all = append(all, or(words...))
	}
	return and(all...), nil
}

func ownNumber(c *compiler, s *schema) (*node, error) {
	all := []*node{}
	if s.integer {
		all = append(all, whole)
	}
	for _, b := range []struct {
		there bool
		make  func() (*node, error)
		at    string
	}{
		{s.minimum != nil, func() (*node, error) { return compared(s.minimum, bounds(more, s.above)) }, s.minAt},
		{s.maximum != nil, func() (*node, error) { return compared(s.maximum, bounds(less, s.below)) }, s.maxAt},
		{s.multipleOf != nil, func() (*node, error) {
			if s.multipleOf.Cmp(one) == 0 {
				return whole, nil
			}
			return multiples(s.multipleOf)
		}, s.mult},
	} {
		if !b.there {
			continue
		}
		n, err := b.make()
		if err != nil {
			return nil, &Error{Pointer: b.at, Keyword: last(b.at), Reason: err.Error()}
		}
		all = append(all, n)
	}
	if s.values != nil {
		var numbers []*node
		for _, v := range s.values {
			if v.kind != number {
				continue
			}
			r := v.rational()
			if r == nil {
				return nil, &Error{Pointer: v.at, Keyword: last(s.valuesAt), Reason: fmt.Sprintf("%.40s has too many digits", v.text)}
			}
			numbers = append(numbers, exactly(r))
		}
		all = append(all, or(numbers...))
	}
	return and(all...), nil
}

// bounds is the order a bound allows.
func bounds(side order, excluded bool) order {
	if excluded {
		return side
	}
	return side | same
}

// A literal is a schema that must hold, or must not.
type literal struct {
	s   *schema
	not bool
}

func (l literal) opposite() literal { return literal{l.s, !l.not} }

// literals are schemas that all must hold: sorted, each once.
type literals []literal

func (a literals) with(more ...literal) literals {
	all := append(slices.Clone(a), more...)
	slices.SortFunc(all, func(x, y literal) int {
		if x.s.id != y.s.id {
			return x.s.id - y.s.id
		}
		if x.not == y.not {
			return 0
		}
		if y.not {
			return -1
		}
		return 1
	})
	all = slices.Compact(all)
	// What always holds says nothing.
	return slices.DeleteFunc(all, func(l literal) bool { return l.s.kind == 0 && l.s.bool != l.not })
}

func (a literals) key() string {
	var b []byte
	for _, l := range a {
		sign := byte('+')
		if l.not {
			sign = '-'
		}
		b = strconv.AppendInt(append(b, sign), int64(l.s.id), 10)
	}
	return string(b)
}

// left returns the members of d that all of a allow.
func (c *compiler) left(a literals, d *domain) (*node, error) {
	var all []*node
	for _, l := range a {
		n, err := c.leaves(l.s, d)
		if err != nil {
			return nil, err
		}
		if l.not {
			n = not(n)
		}
		all = append(all, n)
	}
	n := and(all...)
	if d != domains.number {
		return n, nil
	}
	joined, err := c.joined(n)
	if err != nil {
		return nil, c.tooLarge(a, err)
	}
	return joined, nil
}

// tooLarge is the error of numbers under too many divisors.
func (c *compiler) tooLarge(a literals, err error) error {
	for _, l := range a {
		if at := l.s.divided(8); at != "" {
			return &Error{Pointer: at, Keyword: last(at), Reason: err.Error()}
		}
	}
	return &Error{Reason: err.Error()}
}

// divided is where s divides numbers, following references and connectives to a depth.
func (s *schema) divided(depth int) string {
	if s.multipleOf != nil || depth == 0 {
		return s.mult
	}
	for _, list := range [][]*schema{s.allOf, s.anyOf, s.oneOf, {s.ref, s.not, s.when, s.then, s.else_}} {
		for _, t := range list {
			if t == nil {
				continue
			}
			if at := t.divided(depth - 1); at != "" {
				return at
			}
		}
	}
	return ""
}
