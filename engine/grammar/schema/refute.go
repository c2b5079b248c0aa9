package schema

// refute returns the clauses of which one holds for every array or object that is not
// valid under s, and for no other.
func (c *compiler) refute(s *schema, k kind) ([]clause, error) {
	out, err := c.refuteOwn(s, k)
	if err != nil {
		return nil, err
	}
	add := func(list []clause, e error) {
		if err == nil {
			err = e
		}
		out = append(out, list...)
	}
	no := func(t *schema) ([]clause, error) { return c.clauses(side{literal{t, true}, k, false}) }
	yes := func(t *schema) ([]clause, error) { return c.clauses(side{literal{t, false}, k, false}) }
	join := func(a, b []clause, e error) ([]clause, error) {
		if err == nil {
			err = e
		}
		if err != nil {
			return nil, err
		}
		return c.product(a, b, k, s)
	}
	none := func(list []*schema) ([]clause, error) {
		all := []clause{nil}
		for _, t := range list {
			part, e := no(t)
			if all, e = join(all, part, e); e != nil {
				return nil, e
			}
		}
		return all, nil
	}
	if s.ref != nil {
		add(no(s.ref))
	}
	for _, t := range s.allOf {
		add(no(t))
	}
	if s.values != nil {
		var list []*schema
		for _, v := range s.values {
			if v.kind == k {
				list = append(list, c.constant(v, s.valuesAt))
			}
		}
		add(none(list))
	}
	if s.anyOf != nil {
		add(none(s.anyOf))
	}
	if s.oneOf != nil {
		add(none(s.oneOf))
		for i, t := range s.oneOf {
			for _, u := range s.oneOf[:i] {
				a, e := yes(t)
				if err == nil {
					err = e
				}
				b, e := yes(u)
				add(join(a, b, e))
			}
		}
	}
	if s.not != nil {
		add(yes(s.not))
	}
	if s.when != nil {
		for _, b := range []struct {
			ask  func(*schema) ([]clause, error)
			then *schema
		}{{yes, s.then}, {no, s.else_}} {
			if b.then == nil {
				continue
			}
			a, e := b.ask(s.when)
			if err == nil {
				err = e
			}
			n, e := no(b.then)
			add(join(a, n, e))
		}
	}
	if k == object {
		for _, d := range s.needs {
			there := clause{{kind: present, name: d.name}}
			for _, name := range d.required {
				add([]clause{{there[0], absent(name)}}, nil)
			}
			if d.schema != nil {
				list, e := no(d.schema)
				add(join([]clause{there}, list, e))
			}
		}
	}
	return out, err
}

// refuteOwn refutes the keywords that constrain s itself.
func (c *compiler) refuteOwn(s *schema, k kind) ([]clause, error) {
	var out []clause
	unsupported := func(keyword string) ([]clause, error) {
		return nil, &Error{Pointer: s.at + "/" + keyword, Keyword: keyword, Reason: "not supported where it is negated, by not, oneOf, if or dependencies"}
	}
	resize := func(low, high count) {
		if low.n > 0 {
			out = append(out, clause{{kind: size, max: low.n - 1, at: low.at}})
		}
		if high.set {
			out = append(out, clause{{kind: size, min: high.n + 1, max: -1, at: high.at}})
		}
	}
	if k == array {
		for i, t := range s.prefix {
			out = append(out, clause{{kind: size, min: i + 1, max: -1}, {kind: place, from: i, l: literal{t, true}}})
		}
		if s.items != nil {
			at := s.items.at
			if s.made {
				at = s.at
			}
			out = append(out, clause{{kind: contain, l: literal{s.items, true}, min: 1, max: -1, from: len(s.prefix), at: at}})
		}
		resize(s.minItems, s.maxItems)
		if s.contains != nil {
			least := 1
			if s.minContains.set {
				least = s.minContains.n
			}
			if least > 0 {
				out = append(out, clause{{kind: contain, l: literal{s: s.contains}, max: least - 1, at: s.contains.at}})
			}
			if s.maxContains.set {
				out = append(out, clause{{kind: contain, l: literal{s: s.contains}, min: s.maxContains.n + 1, max: -1, at: s.contains.at}})
			}
		}
		if s.unique {
			return unsupported("uniqueItems")
		}
		if s.unevaluatedItems != nil {
			return unsupported("unevaluatedItems")
		}
		return out, nil
	}
	named := nothing
	for _, name := range s.names {
		named = or(named, word(name))
		out = append(out, clause{{kind: present, name: name}, {kind: member, name: name, l: literal{s.properties[name], true}}})
	}
	for _, p := range s.patterns {
		named = or(named, p.match)
		out = append(out, clause{{kind: some, names: p.match, l: literal{p.schema, true}, at: s.keyword("patternProperties")}})
	}
	if s.additional != nil {
		out = append(out, clause{{kind: some, names: not(named), l: literal{s.additional, true}, at: s.keyword("additionalProperties")}})
	}
	for _, name := range s.required {
		out = append(out, clause{absent(name)})
	}
	resize(s.minProperties, s.maxProperties)
	if s.propertyNames != nil {
		n, err := c.leaves(s.propertyNames, domains.str)
		if err != nil {
			return nil, err
		}
		out = append(out, clause{{kind: some, names: not(n), l: literal{s: always}, at: s.keyword("propertyNames")}})
	}
	if s.unevaluatedProperties != nil {
		return unsupported("unevaluatedProperties")
	}
	// What cannot be, as an element that is not anything, is no way out.
	kept := out[:0]
	for _, cl := range out {
		hopeless, err := c.hopeless(cl, k)
		if err != nil {
			return nil, err
		}
		for _, x := range cl {
			if x.kind == some {
				if hopeless, err = c.void(literals{}.with(x.l)); err != nil {
					return nil, err
				}
			}
		}
		if !hopeless {
			kept = append(kept, cl)
		}
	}
	return kept, nil
}
