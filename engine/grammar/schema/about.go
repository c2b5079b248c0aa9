package schema

import "slices"

// A named is what the clauses' members say of one name, or of a class of names.
type named struct {
	name     string // of one that is declared somewhere
	declared bool
	matches  func(*node) (bool, error)
}

// about returns the schemas that the value of the member name must satisfy.
func (c *compiler) about(cl clause, name string) (literals, error) {
	return c.says(cl, named{name, true, func(n *node) (bool, error) { return c.matches(n, name) }})
}

// says returns the schemas that the value of a member must satisfy.
func (c *compiler) says(cl clause, who named) (literals, error) {
	var lits literals
	for _, x := range cl {
		switch x.kind {
		case members:
			more, _, err := x.s.speaksOf(who)
			if err != nil {
				return nil, err
			}
			lits = append(lits, more...)
		case member:
			if who.declared && x.name == who.name {
				lits = append(lits, x.l)
			}
		case namesAre:
			n, err := c.leaves(x.l.s, domains.str)
			if err != nil {
				return nil, err
			}
			if !who.declared {
				continue // classes of names are cut to those
			}
			if ok, err := who.matches(n); err != nil {
				return nil, err
			} else if !ok {
				lits = append(lits, literal{s: never})
			}
		case remaining:
			covered := false
			for _, g := range x.groups {
				_, spoken, err := g.speaksOf(who)
				if err != nil {
					return nil, err
				}
				covered = covered || spoken
			}
			if !covered {
				lits = append(lits, x.l)
			}
		}
	}
	return literals{}.with(lits...), nil
}

// speaksOf returns what properties, patternProperties and additionalProperties of s say
// of a member, and whether they say anything.
func (s *schema) speaksOf(who named) (lits literals, spoken bool, err error) {
	if p := s.properties[who.name]; p != nil && who.declared {
		lits = append(lits, literal{s: p})
	}
	for _, p := range s.patterns {
		ok, err := who.matches(p.match)
		if err != nil {
			return nil, false, err
		}
		if ok {
			lits = append(lits, literal{s: p.schema})
		}
	}
	if len(lits) == 0 && s.additional != nil {
		lits = append(lits, literal{s: s.additional})
	}
	return lits, len(lits) > 0, nil
}

// at returns the schemas that the element i of an array must satisfy.
func (c *compiler) at(cl clause, i int) literals {
	var lits literals
	for _, x := range cl {
		switch x.kind {
		case elements:
			if t := x.s.element(i); t != nil {
				lits = append(lits, literal{s: t})
			}
		case place:
			if x.from == i {
				lits = append(lits, x.l)
			}
		case rest:
			if !slices.ContainsFunc(x.groups, func(g *schema) bool { return g.element(i) != nil }) {
				lits = append(lits, x.l)
			}
		}
	}
	return literals{}.with(lits...)
}

// element is the schema of element i, or nil.
func (s *schema) element(i int) *schema {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.items
}

// fixed is how many elements at the front of an array have a say of their own.
func fixed(cl clause) int {
	n := 0
	for _, x := range cl {
		switch x.kind {
		case elements:
			n = max(n, len(x.s.prefix))
		case place:
			n = max(n, x.from+1)
		case contain:
			n = max(n, x.from)
		case rest:
			for _, g := range x.groups {
				n = max(n, len(g.prefix))
			}
		}
	}
	return n
}

// limits are the sizes that the clause allows; high is most where there is no limit.
func limits(cl clause) (low, high int) {
	high = most
	for _, x := range cl {
		if x.kind == size {
			low = max(low, x.min)
			if x.max >= 0 {
				high = min(high, x.max)
			}
		}
	}
	return low, high
}
