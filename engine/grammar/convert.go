package grammar

// A converter turns Regexes into expressions, each once.
type converter struct {
	*exprs
	done        map[*Regex]expr
	chars       map[string]expr // character sets by their ranges
	byAutomaton map[*Automaton]*table
}

func newConverter(x *exprs) *converter {
	return &converter{x, map[*Regex]expr{}, map[string]expr{}, map[*Automaton]*table{}}
}

func (c *converter) convert(r *Regex) expr {
	if e, ok := c.done[r]; ok {
		return e
	}
	if !c.spend(1 + len(r.kids) + len(r.lit) + len(r.chars)) {
		return nothing
	}
	kids := make([]expr, len(r.kids))
	for i, k := range r.kids {
		kids[i] = c.convert(k)
	}
	e := nothing
	switch r.op {
	case opLit:
		e = empty
		for i := len(r.lit) - 1; i >= 0; i-- {
			e = c.cat(c.span(byteSpan{r.lit[i], r.lit[i]}), e)
		}
	case opChars:
		e = c.characters(r.chars)
	case opBytes:
		e = c.span(r.bytes)
	case opConcat:
		e = empty
		for i := len(kids) - 1; i >= 0; i-- {
			e = c.cat(kids[i], e)
		}
	case opOr:
		e = c.alt(kids...)
	case opAnd:
		e = c.and(kids...)
	case opNot:
		e = c.not(kids[0])
	case opTable:
		e = c.table(r.table)
	case opRepeat:
		e = c.repeat(kids[0], r.min, r.max)
	}
	c.done[r] = e
	return e
}

func (c *converter) span(s byteSpan) expr {
	var set byteSet
	set.addRange(s.lo, s.hi)
	return c.set(&set)
}

// characters returns the UTF-8 forms of a set, as a trie.
func (c *converter) characters(set RuneSet) expr {
	key := make([]byte, 0, 64)
	for _, r := range set {
		key = append(key, byte(r.Lo), byte(r.Lo>>8), byte(r.Lo>>16), byte(r.Hi), byte(r.Hi>>8), byte(r.Hi>>16))
	}
	if e, ok := c.chars[string(key)]; ok {
		return e
	}
	var forms []expr
	for _, r := range set {
		utf8Spans(r.Lo, r.Hi, func(spans []byteSpan) {
			e := empty
			for i := len(spans) - 1; i >= 0; i-- {
				e = c.cat(c.span(spans[i]), e)
			}
			forms = append(forms, e)
		})
	}
	e := c.alt(forms...)
	c.chars[string(key)] = e
	return e
}
