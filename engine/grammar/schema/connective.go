package schema

func (c *compiler) anyOf(s *schema, k kind, all bool) ([]clause, error) {
	if !all {
		var any []clause
		for _, t := range s.anyOf {
			list, err := c.clauses(side{literal{s: t}, k, false})
			if err != nil {
				return nil, err
			}
			any = append(any, list...)
		}
		return any, nil
	}
	if len(s.anyOf) > 6 {
		return nil, &Error{Pointer: s.at + "/anyOf", Keyword: "anyOf", Reason: "more than 6 alternatives beside unevaluated members or elements"}
	}
	var any []clause
	for mask := 1; mask < 1<<len(s.anyOf); mask++ {
		part := []clause{nil}
		for i, t := range s.anyOf {
			on := mask>>i&1 == 1
			list, err := c.clauses(side{literal{t, !on}, k, on})
			if err != nil {
				return nil, err
			}
			if !on {
				list = silence(list)
			}
			if part, err = c.product(part, list, k, s); err != nil {
				return nil, err
			}
		}
		any = append(any, part...)
	}
	return any, nil
}

func (c *compiler) oneOf(s *schema, k kind, all bool) ([]clause, error) {
	var out []clause
	sides := make([][]clause, len(s.oneOf))
	for i, t := range s.oneOf {
		var err error
		if sides[i], err = c.clauses(side{literal{s: t}, k, all}); err != nil {
			return nil, err
		}
	}
	for i := range s.oneOf {
		part := sides[i]
		for j, t := range s.oneOf {
			if i == j || len(part) == 0 {
				continue
			}
			shared, err := c.product(part, sides[j], k, s)
			if err != nil {
				return nil, err
			}
			if len(shared) == 0 {
				continue // the two exclude each other
			}
			no, err := c.clauses(side{literal{t, true}, k, false})
			if err != nil {
				return nil, err
			}
			if part, err = c.product(part, silence(no), k, s); err != nil {
				return nil, err
			}
		}
		out = append(out, part...)
	}
	return out, nil
}

func (c *compiler) conditional(s *schema, k kind, all bool) ([]clause, error) {
	var out []clause
	for _, b := range []struct {
		not  bool
		then *schema
	}{{false, s.then}, {true, s.else_}} {
		part, err := c.clauses(side{literal{s.when, b.not}, k, all && !b.not})
		if err != nil {
			return nil, err
		}
		if b.not {
			part = silence(part)
		}
		if b.then != nil {
			list, err := c.clauses(side{literal{s: b.then}, k, all})
			if err != nil {
				return nil, err
			}
			if part, err = c.product(part, list, k, s); err != nil {
				return nil, err
			}
		}
		out = append(out, part...)
	}
	return out, nil
}

// absent is the constraint that a member is not there.
func absent(name string) constraint {
	return constraint{kind: member, name: name, l: literal{s: never}}
}

func (c *compiler) dependent(d dependency, k kind, all bool) ([]clause, error) {
	with := clause{{kind: present, name: d.name}}
	for _, name := range d.required {
		with = append(with, constraint{kind: present, name: name})
	}
	there := []clause{with}
	if d.schema != nil {
		list, err := c.clauses(side{literal{s: d.schema}, k, all})
		if err != nil {
			return nil, err
		}
		if there, err = c.product(there, list, k, d.schema); err != nil {
			return nil, err
		}
	}
	return append([]clause{{absent(d.name)}}, there...), nil
}
