package schema

import "slices"

// hopeless says of some clauses that no value satisfies them. It need not find all.
func (c *compiler) hopeless(cl clause, k kind) (bool, error) {
	low, high := limits(cl)
	if low > high {
		return true, nil
	}
	if k == array {
		return c.hopelessArray(cl, low)
	}
	for _, x := range cl {
		if x.kind != present {
			continue
		}
		lits, err := c.about(cl, x.name)
		if err != nil {
			return false, err
		}
		if no, err := c.void(lits); no || err != nil {
			return no, err
		}
	}
	return false, nil
}

func (c *compiler) hopelessArray(cl clause, low int) (bool, error) {
	for i := range min(low, 4) {
		if no, err := c.void(c.at(cl, i)); no || err != nil {
			return no, err
		}
	}
	return false, nil
}

// void says that no value is valid under all of lits, as far as that shows without
// looking into arrays and objects.
func (c *compiler) void(lits literals) (bool, error) {
	if len(lits) == 0 {
		return false, nil
	}
	key := lits.key()
	if no, ok := c.voids[key]; ok {
		return no, nil
	}
	no, err := c.voidNow(lits)
	if err == nil {
		c.voids[key] = no
	}
	return no, err
}

func (c *compiler) voidNow(lits literals) (bool, error) {
	for _, k := range []kind{array, object} {
		possible := !slices.ContainsFunc(lits, func(l literal) bool {
			if l.not {
				return l.s.kind == 0 && l.s.bool
			}
			return !c.may(l.s, k, 8)
		})
		if possible {
			return false, nil
		}
	}
	for _, d := range []*domain{domains.null, domains.yes, domains.no, domains.str, domains.number} {
		n, err := c.left(lits, d)
		if err != nil {
			return false, err
		}
		if n == nothing {
			continue
		}
		if d == domains.number {
			n = numeral(n)
		}
		if d == domains.str || d == domains.number {
			if none, err := c.empty(n); err != nil || none {
				if err != nil {
					return false, err
				}
				continue
			}
		}
		return false, nil
	}
	return true, nil
}

// may reports whether s might allow a value of the kind, following references and
// connectives to a depth.
func (c *compiler) may(s *schema, k kind, depth int) bool {
	if s.kind == 0 {
		return s.bool
	}
	if s.kind&k == 0 || s.values != nil && !slices.ContainsFunc(s.values, func(v *value) bool { return v.kind == k }) {
		return false
	}
	if depth == 0 {
		return true
	}
	if s.ref != nil && !c.may(s.ref, k, depth-1) {
		return false
	}
	for _, t := range s.allOf {
		if !c.may(t, k, depth-1) {
			return false
		}
	}
	for _, list := range [][]*schema{s.anyOf, s.oneOf} {
		if list != nil && !slices.ContainsFunc(list, func(t *schema) bool { return c.may(t, k, depth-1) }) {
			return false
		}
	}
	return true
}
