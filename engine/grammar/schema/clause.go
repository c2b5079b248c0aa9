package schema

import (
	"fmt"
	"slices"
)

// Arrays and objects have no complements that a grammar could take, so their schemas
// are first brought into disjunctive form: clauses, of which one must hold, each a list
// of constraints that all must hold and whose opposites are clauses again.

type constraintKind uint8

const (
	// Of objects.
	members   constraintKind = iota // properties, patternProperties and additionalProperties of s
	member                          // the member name, if there, is valid under l
	present                         // the member name is there
	size                            // min to max members or elements; max -1 is no limit
	namesAre                        // all names are valid under l
	some                            // a member whose name matches names is valid under l
	remaining                       // members that none of groups speaks of are valid under l
	// Of arrays, and size.
	elements // prefixItems and items of s
	contain  // min to max elements are valid under l, from the index from
	distinct // no two elements are equal
	rest     // elements that none of groups speaks of are valid under l
	place    // the element from, if there, is valid under l
)

type constraint struct {
	kind     constraintKind
	s        *schema
	name     string
	l        literal
	min, max int
	from     int
	names    *node
	groups   []*schema
	at       string // of some, contain and size, the keyword that says so
	silent   bool   // members and elements of constants and below not: they do not count as evaluated
}

type clause []constraint

var (
	always = &schema{id: -1, bool: true}
	never  = &schema{id: -2, bool: false}
)

// A side is a question for clauses.
type side struct {
	l    literal
	kind kind
	all  bool // every alternative of anyOf is distinguished, for unevaluated members
}

// maxClauses bounds the clauses made for one schema.
const maxClauses = 4000

// clauses returns the ways in which a value of the kind is valid under l; none if it
// never is, one without constraints if it always is.
func (c *compiler) clauses(q side) ([]clause, error) {
	s := q.l.s
	if s.kind&q.kind == 0 {
		if (s.kind == 0 && s.bool) != q.l.not {
			return []clause{nil}, nil
		}
		return nil, nil
	}
	if got, ok := c.forms[q]; ok {
		if got == nil {
			return nil, c.loop(s)
		}
		return *got, nil
	}
	c.forms[q] = nil
	var list []clause
	var err error
	if q.l.not {
		list, err = c.refute(s, q.kind)
	} else {
		list, err = c.hold(s, q.kind, q.all)
	}
	if err != nil {
		delete(c.forms, q)
		return nil, s.through(err)
	}
	c.forms[q] = &list
	return list, nil
}

// hold returns the clauses of s.
func (c *compiler) hold(s *schema, k kind, all bool) ([]clause, error) {
	uneval := s.unevaluatedProperties
	if k == array {
		uneval = s.unevaluatedItems
	}
	all = all || uneval != nil
	out := []clause{nil}
	for _, part := range c.parts(s, k, all) {
		list, err := part()
		if err != nil {
			return nil, err
		}
		if out, err = c.product(out, list, k, s); err != nil {
			return nil, err
		}
	}
	if uneval == nil {
		return out, nil
	}
	for i, cl := range out {
		extra := constraint{kind: remaining, l: literal{s: uneval}}
		if k == array {
			extra.kind = rest
		}
		for _, x := range cl {
			switch {
			case x.silent:
			case x.kind == members || x.kind == elements:
				extra.groups = append(extra.groups, x.s)
			case x.kind == remaining || x.kind == rest:
				extra.l = literal{s: always} // they speak of everything
			case x.kind == contain && c.draft > 2019:
				return nil, &Error{Pointer: s.at + "/unevaluatedItems", Keyword: "unevaluatedItems", Reason: "not supported beside contains"}
			}
		}
		out[i] = append(slices.Clip(cl), extra)
	}
	return out, nil
}

// parts are the keywords of s that say something of a kind, in the order of the text,
// which is that of the members they declare.
func (c *compiler) parts(s *schema, k kind, all bool) []func() ([]clause, error) {
	type part struct {
		at   int
		make func() ([]clause, error)
	}
	var list []part
	add := func(keyword string, make func() ([]clause, error)) {
		list = append(list, part{s.order[keyword], make})
	}
	ask := func(t *schema) func() ([]clause, error) {
		return func() ([]clause, error) { return c.clauses(side{literal{s: t}, k, all}) }
	}
	add("properties", func() ([]clause, error) { return []clause{c.own(s, k, all)}, nil })
	if s.ref != nil {
		add("$ref", ask(s.ref))
	}
	for _, t := range s.allOf {
		add("allOf", ask(t))
	}
	if s.values != nil {
		add("enum", func() ([]clause, error) {
			var any []clause
			for _, v := range s.values {
				if v.kind == k {
					list, err := ask(c.constant(v, s.valuesAt))()
					if err != nil {
						return nil, err
					}
					any = append(any, list...)
				}
			}
			return silence(any), nil
		})
	}
	if s.anyOf != nil {
		add("anyOf", func() ([]clause, error) { return c.anyOf(s, k, all) })
	}
	if s.oneOf != nil {
		add("oneOf", func() ([]clause, error) { return c.oneOf(s, k, all) })
	}
	if s.not != nil {
		add("not", func() ([]clause, error) {
			list, err := c.clauses(side{literal{s.not, true}, k, false})
			return silence(list), err
		})
	}
	if s.when != nil && (all || s.then != nil || s.else_ != nil) {
		add("if", func() ([]clause, error) { return c.conditional(s, k, all) })
	}
	for _, d := range s.needs {
		if k == object {
			add(d.keyword, func() ([]clause, error) { return c.dependent(d, k, all) })
		}
	}
	slices.SortStableFunc(list, func(a, b part) int { return a.at - b.at })
	var makes []func() ([]clause, error)
	for _, p := range list {
		makes = append(makes, p.make)
	}
	return makes
}

// silence marks constraints of constants and below a not: they evaluate nothing.
func silence(list []clause) []clause {
	out := make([]clause, len(list))
	for i, cl := range list {
		out[i] = slices.Clone(cl)
		for j := range out[i] {
			out[i][j].silent = true
		}
	}
	return out
}

// own are the constraints of the keywords of s itself.
func (c *compiler) own(s *schema, k kind, all bool) clause {
	var out clause
	if k == array {
		if s.prefix != nil || s.items != nil {
			out = append(out, constraint{kind: elements, s: s})
		}
		if s.minItems.n > 0 || s.maxItems.set {
			out = append(out, sized(s.minItems, s.maxItems))
		}
		if s.contains != nil {
			x := sized(s.minContains, s.maxContains)
			if x.kind = contain; !s.minContains.set {
				x.min = 1
			}
			x.l, x.at = literal{s: s.contains}, s.contains.at
			if x.min > 0 || x.max >= 0 || all {
				out = append(out, x)
			}
		}
		if s.unique {
			out = append(out, constraint{kind: distinct, s: s})
		}
		return out
	}
	if s.properties != nil || s.patterns != nil || s.additional != nil {
		out = append(out, constraint{kind: members, s: s})
	}
	for _, name := range s.required {
		out = append(out, constraint{kind: present, name: name})
	}
	if s.minProperties.n > 0 || s.maxProperties.set {
		out = append(out, sized(s.minProperties, s.maxProperties))
	}
	if s.propertyNames != nil {
		out = append(out, constraint{kind: namesAre, l: literal{s: s.propertyNames}})
	}
	return out
}

func sized(low, high count) constraint {
	x := constraint{kind: size, min: low.n, max: -1, at: low.at}
	if high.set {
		x.max = high.n
	}
	if low.n == 0 {
		x.at = high.at
	}
	return x
}

// constant is a schema of which only v is valid, because of the keyword at.
func (c *compiler) constant(v *value, at string) *schema {
	if s, ok := c.constants[v]; ok {
		return s
	}
	s := &schema{id: c.fresh(), at: at, kind: v.kind, made: true}
	c.constants[v] = s
	n := count{n: len(v.list), set: true, at: at}
	switch v.kind {
	case array:
		s.minItems, s.maxItems, s.items = n, n, never
		for _, e := range v.list {
			s.prefix = append(s.prefix, c.constant(e, at))
		}
	case object:
		s.names, s.required, s.additional = v.keys, v.keys, never
		s.properties = map[string]*schema{}
		for i, k := range v.keys {
			s.properties[k] = c.constant(v.list[i], at)
		}
	default:
		s.values, s.valuesAt = []*value{v}, at
	}
	return s
}

func (c *compiler) fresh() int {
	c.made++
	return c.made
}

// product joins every clause of a with every one of b, leaving out what cannot hold.
func (c *compiler) product(a, b []clause, k kind, s *schema) ([]clause, error) {
	if len(b) == 1 && len(b[0]) == 0 {
		return a, nil
	}
	var out []clause
	for _, x := range a {
		for _, y := range b {
			if c.joins++; c.joins > 20*maxClauses {
				return nil, tooMany(s)
			}
			z := slices.Clip(x)
			for _, n := range y {
				if !slices.ContainsFunc(z, n.same) {
					z = append(z, n)
				}
			}
			hopeless, err := c.hopeless(z, k)
			if err != nil {
				return nil, err
			}
			if hopeless {
				continue
			}
			if out = append(out, z); len(out) > maxClauses {
				return nil, tooMany(s)
			}
		}
	}
	return out, nil
}

func (x constraint) same(y constraint) bool {
	return x.kind == y.kind && x.s == y.s && x.name == y.name && x.l == y.l && x.min == y.min && x.max == y.max &&
		x.from == y.from && x.names == y.names && slices.Equal(x.groups, y.groups) && x.silent == y.silent
}

// tooMany names the connective of s that multiplied.
func tooMany(s *schema) error {
	keyword := ""
	switch {
	case s.made:
	case s.allOf != nil:
		keyword = "allOf"
	case s.oneOf != nil:
		keyword = "oneOf"
	case s.anyOf != nil:
		keyword = "anyOf"
	case s.when != nil:
		keyword = "if"
	case s.needs != nil:
		keyword = s.needs[0].keyword
	case s.not != nil:
		keyword = "not"
	}
	at := s.keyword(keyword)
	return &Error{Pointer: at, Keyword: last(at), Reason: fmt.Sprintf("more than %d combinations of alternatives", maxClauses)}
}

// keyword is where s has the keyword; "" is none.
func (s *schema) keyword(name string) string {
	if s.made || name == "" {
		return s.at
	}
	return s.at + "/" + name
}
