package schema

import (
	"fmt"
	"slices"

	"quern/engine/grammar"
)

const (
	maxContains = 3 // conditions on some elements of one array
	maxDistinct = 8 // values that elements may have where none may come twice
)

// array is an array that satisfies the clause.
func (c *compiler) array(cl clause) (*grammar.Node, error) {
	a := &arrayMaker{compiler: c, clause: cl, fixed: fixed(cl)}
	a.low, a.high = limits(cl)
	unique := ""
	for _, x := range cl {
		switch x.kind {
		case contain:
			a.contains = append(a.contains, x)
		case distinct:
			unique = x.s.uniqueAt
		}
	}
	var body *grammar.Node
	var err error
	switch {
	case unique != "" && a.high > 1:
		body, err = a.distinct(unique)
	case len(a.contains) > 0:
		body, err = a.counted()
	default:
		body, err = a.plain()
	}
	if err != nil {
		return nil, err
	}
	return c.b.Seq(c.lexeme(openArray), body, c.lexeme(closeArray)), nil
}

type arrayMaker struct {
	*compiler
	clause    clause
	fixed     int // elements at the front with schemas of their own
	low, high int
	contains  []constraint
}

// element is an element at i that satisfies more, too; nil if there is none.
func (a *arrayMaker) element(i int, more ...literal) (*grammar.Node, error) {
	lits := a.at(a.clause, i).with(more...)
	void, err := a.void(lits)
	if err != nil || void {
		return nil, err
	}
	return a.value(lits)
}

// plain is elements of which each only has to be valid where it stands.
func (a *arrayMaker) plain() (*grammar.Node, error) {
	tail, err := a.element(a.fixed)
	if err != nil {
		return nil, err
	}
	impossible, end := a.b.Alt(), a.b.Seq()
	if a.fixed == 0 {
		switch {
		case a.high == 0 || tail == nil && a.low == 0:
			return end, nil
		case tail == nil:
			return impossible, nil
		case a.low == 0:
			return a.b.Opt(a.several(tail, 1, a.high)), nil
		}
		return a.several(tail, a.low, a.high), nil
	}
	body := end
	switch {
	case a.high <= a.fixed:
	case tail != nil:
		body = a.more(tail, max(0, a.low-a.fixed), a.high-min(a.fixed, a.high))
		if a.high == most {
			body = a.more(tail, max(0, a.low-a.fixed), most)
		}
	case a.low > a.fixed:
		body = impossible
	}
	for i := a.fixed - 1; i >= 0; i-- {
		stop := end
		if i < a.low {
			stop = impossible
		}
		e, err := a.element(i)
		switch {
		case err != nil:
			return nil, err
		case i >= a.high:
			body = end
			continue
		case e == nil:
			body = stop
			continue
		case i > 0:
			e = a.b.Seq(a.lexeme(comma), e)
		}
		body = a.b.Seq(e, body)
		if i >= a.low {
			body = a.b.Opt(body)
		}
	}
	return body, nil
}

// counted is elements some of which have to satisfy conditions, a number of times.
func (a *arrayMaker) counted() (*grammar.Node, error) {
	if len(a.contains) > maxContains {
		return nil, &Error{Pointer: a.contains[0].at, Keyword: last(a.contains[0].at), Reason: fmt.Sprintf("more than %d conditions on one array", maxContains)}
	}
	top := max(a.fixed, a.low, 1) // places above make no difference
	if a.high < most {
		top = max(top, a.high)
	}
	type station struct {
		at     int
		counts [maxContains]int
	}
	made := map[station]*grammar.Node{}
	var err error
	var from func(s station) *grammar.Node
	from = func(s station) *grammar.Node {
		if n, ok := made[s]; ok || err != nil {
			return n
		}
		n := a.rule()
		if made[s] = n; len(made) > maxStations {
			err = &Error{Pointer: a.contains[0].at, Keyword: last(a.contains[0].at), Reason: fmt.Sprintf("counting elements takes more than %d rules", maxStations)}
			return n
		}
		var ways []*grammar.Node
		enough := s.at >= a.low
		for j, x := range a.contains {
			enough = enough && s.counts[j] >= x.min
		}
		if enough {
			ways = append(ways, a.b.Seq())
		}
		// Each choice of the conditions that the next element satisfies.
		for mask := 0; mask < 1<<len(a.contains) && (a.high == most || s.at < a.high); mask++ {
			next, lits, ok := s, []literal(nil), true
			next.at = min(s.at+1, top)
			for j, x := range a.contains {
				yes := mask>>j&1 == 1
				if s.at < x.from || x.max < 0 && s.counts[j] >= x.min {
					ok = ok && !yes // it does not matter any more, or not yet
					continue
				}
				if yes {
					lits = append(lits, x.l)
					next.counts[j]++
					ok = ok && (x.max < 0 || next.counts[j] <= x.max)
				} else {
					lits = append(lits, x.l.opposite())
				}
			}
			if !ok {
				continue
			}
			e, e2 := a.element(s.at, lits...)
			if e2 != nil {
				err = e2
				return n
			}
			if e == nil {
				continue
			}
			if s.at > 0 {
				e = a.b.Seq(a.lexeme(comma), e)
			}
			ways = append(ways, a.b.Seq(e, from(next)))
		}
		a.b.Define(n, a.b.Alt(ways...))
		return n
	}
	return from(station{}), err
}

// distinct is elements of a few values, none twice.
func (a *arrayMaker) distinct(at string) (*grammar.Node, error) {
	refuse := func(why string) error {
		return &Error{Pointer: at, Keyword: "uniqueItems", Reason: why}
	}
	if len(a.contains) > 0 || a.fixed > 0 {
		return nil, refuse("not supported beside contains, prefixItems or an array of items")
	}
	all, err := a.choices(at)
	if err != nil {
		return nil, err
	}
	if all == nil || len(all) > maxDistinct {
		return nil, refuse(fmt.Sprintf("supported only for elements of at most %d values, given by enum or const", maxDistinct))
	}
	words := make([]*grammar.Node, len(all))
	for i, v := range all {
		if words[i], err = a.value(literals{{s: a.constant(v, at)}}); err != nil {
			return nil, err
		}
	}
	rules := make([]*grammar.Node, 1<<len(all))
	for used := range rules {
		rules[used] = a.rule()
	}
	for used, n := range rules {
		var ways []*grammar.Node
		count := 0
		for i, w := range words {
			if used>>i&1 == 1 {
				count++
				continue
			}
			if used != 0 {
				w = a.b.Seq(a.lexeme(comma), w)
			}
			ways = append(ways, a.b.Seq(w, rules[used|1<<i]))
		}
		if count >= a.high {
			ways = nil
		}
		if count >= a.low {
			ways = append(ways, a.b.Seq())
		}
		a.b.Define(n, a.b.Alt(ways...))
	}
	return rules[0], nil
}

// choices are the values that elements may have, or nil if they are not known; at is
// the place that errors name.
func (a *arrayMaker) choices(at string) ([]*value, error) {
	lits := a.at(a.clause, 0)
	var list []*value
	for _, l := range lits {
		if found := l.s.finite(8); !l.not && found != nil {
			list = found
			break
		}
	}
	kept := []*value{}
	for _, v := range list {
		if v.kind&(array|object) != 0 {
			return nil, nil
		}
		void, err := a.void(lits.with(literal{s: a.constant(v, at)}))
		if err != nil {
			return nil, err
		}
		if !void && !slices.ContainsFunc(kept, func(w *value) bool { return equal(v, w) }) {
			kept = append(kept, v)
		}
	}
	if list == nil {
		return nil, nil
	}
	return kept, nil
}

// finite returns values among which all valid ones are, or nil if it finds no such.
func (s *schema) finite(depth int) []*value {
	switch {
	case s.values != nil:
		return s.values
	case s.kind != 0 && s.kind&^(null|boolean) == 0:
		return []*value{{kind: null}, {kind: boolean}, {kind: boolean, yes: true}}
	case depth == 0:
		return nil
	case s.ref != nil:
		return s.ref.finite(depth - 1)
	}
	for _, t := range s.allOf {
		if list := t.finite(depth - 1); list != nil {
			return list
		}
	}
	for _, alternatives := range [][]*schema{s.anyOf, s.oneOf} {
		var all []*value
		for _, t := range alternatives {
			list := t.finite(depth - 1)
			if list == nil {
				all = nil
				break
			}
			all = append(all, list...)
		}
		if all != nil {
			return all
		}
	}
	return nil
}
