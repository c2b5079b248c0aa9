package grammar

import "unsafe"

// An Automaton is a deterministic automaton over bytes: what is easier to count than
// to write as an expression, such as the multiples of a number. It starts in state 0
// and must not change once it is part of a Regex.
type Automaton struct {
	Class  [256]uint8 // of each byte
	Next   [][]int32  // by state and class; negative is no way
	Accept []bool     // by state
}

// Table matches what an automaton accepts.
func Table(a *Automaton) *Regex {
	return regex(Regex{op: opTable, table: a, nullable: len(a.Accept) > 0 && a.Accept[0]})
}

// distances returns how many bytes there are from each state to an accepting one, or -1.
func (a *Automaton) distances() []int32 {
	far := make([]int32, len(a.Next))
	back := make([][]int32, len(a.Next))
	var list []int32
	for s, next := range a.Next {
		for _, to := range next {
			if to >= 0 {
				back[to] = append(back[to], int32(s))
			}
		}
		if far[s] = -1; a.Accept[s] {
			far[s] = 0
			list = append(list, int32(s))
		}
	}
	for i := 0; i < len(list); i++ {
		for _, from := range back[list[i]] {
			if far[from] < 0 {
				far[from] = far[list[i]] + 1
				list = append(list, from)
			}
		}
	}
	return far
}

// Living returns the states from which there is a way to an accepting one.
func (a *Automaton) Living() []bool {
	living := make([]bool, len(a.Next))
	for s, n := range a.distances() {
		living[s] = n >= 0
	}
	return living
}

// A table is an Automaton of a store.
type table struct {
	*Automaton
	number int32
	far    []int32 // distances
}

// table returns the expression of an automaton's strings.
func (c *converter) table(a *Automaton) expr {
	t, ok := c.byAutomaton[a]
	if !ok {
		for _, next := range a.Next {
			// Twice, as distances keeps the way back.
			if !c.spend(1+len(next)) || !c.take(2*(int(unsafe.Sizeof(next))+4*len(next))) {
				return nothing
			}
		}
		t = &table{Automaton: a, number: int32(len(c.tables)), far: a.distances()}
		// The lexer tells apart bytes that some set does.
		var sets [256]byteSet
		for b, class := range a.Class {
			sets[class].add(byte(b))
		}
		for i := range sets {
			c.set(&sets[i])
		}
		c.tables = append(c.tables, t)
		c.byAutomaton[a] = t
	}
	return c.state(t, 0)
}

// state is the expression of the strings that lead t from state s to its end.
func (x *exprs) state(t *table, s int32) expr {
	if s < 0 || int(s) >= len(t.far) || t.far[s] < 0 {
		return nothing
	}
	return x.intern(exTable, []int32{t.number, s}, t.Accept[s], false)
}

// step is state after b.
func (t *table) step(s int32, b byte) int32 { return t.Next[s][t.Class[b]] }

// first returns the bytes that lead on from state s.
func (t *table) first(s int32) (set byteSet) {
	for b := range 256 {
		if to := t.step(s, byte(b)); to >= 0 && t.far[to] >= 0 {
			set.add(byte(b))
		}
	}
	return set
}

// Expressions answers questions about Regexes, and remembers what it worked out, so
// that expressions with parts in common are cheap. It is not safe for concurrent use.
type Expressions struct {
	limits Limits
	fuel   int // steps left for all questions
	conv   *converter
}

// NewExpressions returns a store without expressions. Once the questions together pass
// the limits on expressions or on steps to compile, or half of that on memory, the answer is a *LimitError.
func NewExpressions(l Limits) *Expressions {
	e := &Expressions{limits: l.filled()}
	e.limits.Memory /= 2 // they are there beside all that a front end makes
	e.fuel = e.limits.Compile
	e.reset()
	return e
}

func (e *Expressions) reset() {
	e.conv = newConverter(newExprs(&e.limits))
	e.conv.bytewise = true
}

// ask calls f with the expression of r.
func (e *Expressions) ask(r *Regex, f func(x *exprs, e expr) bool) (bool, error) {
	if r.deep > e.limits.Depth {
		return false, &LimitError{"levels of nesting", e.limits.Depth}
	}
	e.conv.budget("steps to compile", e.fuel)
	e.conv.max = e.limits.Compile
	yes := f(e.conv.exprs, e.conv.convert(r))
	e.fuel = e.conv.fuel
	if err := e.conv.err; err != nil {
		e.reset() // what was not finished is not to be remembered
		return false, err
	}
	return yes, nil
}

// Matches reports whether r matches s.
func (e *Expressions) Matches(r *Regex, s string) (bool, error) {
	return e.ask(r, func(x *exprs, at expr) bool {
		for i := range len(s) {
			at = x.derive(at, s[i], s[i])
		}
		return x.nullable(at)
	})
}

// Empty reports whether r matches no string at all.
func (e *Expressions) Empty(r *Regex) (bool, error) {
	return e.ask(r, func(x *exprs, at expr) bool {
		return !x.matchesSome(at, x.representatives(at))
	})
}

// representatives returns bytes that between them have all derivatives of e.
func (x *exprs) representatives(e expr) []byte {
	var c byteClasses
	seen := map[expr]bool{e: true}
	for list := []expr{e}; len(list) > 0 && x.spend(1); {
		e := list[len(list)-1]
		list = list[:len(list)-1]
		kids := x.kids(e)
		switch x.nodes[e].op {
		case exSet:
			set := x.setOf(e)
			c.split(&set)
			continue
		case exTable:
			var sets [256]byteSet
			for b, k := range x.tables[kids[0]].Class {
				sets[k].add(byte(b))
			}
			for i := range sets {
				if !sets[i].empty() {
					c.split(&sets[i])
				}
			}
			continue
		case exRepeat:
			kids = kids[:1]
		}
		for _, k := range kids {
			if !seen[expr(k)] {
				seen[expr(k)] = true
				list = append(list, expr(k))
			}
		}
	}
	return c.representatives()
}
