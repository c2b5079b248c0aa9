package grammar

import "slices"

// A utf8Edge leads from one place in a character to another.
type utf8Edge struct {
	lo, hi byte
	to     uint8
}

// plainEdges is the automaton of plain characters (see plainRune): state 0 is
// between characters.
var plainEdges = [...][]utf8Edge{
	0: {{' ', '!', 0}, {'#', '[', 0}, {']', '~', 0}, {0xC2, 0xDF, 1}, {0xE0, 0xE0, 4}, {0xE1, 0xEC, 2}, {0xED, 0xED, 5},
		{0xEE, 0xEF, 2}, {0xF0, 0xF0, 6}, {0xF1, 0xF3, 3}, {0xF4, 0xF4, 7}},
	1: {{0x80, 0xBF, 0}},
	2: {{0x80, 0xBF, 1}},
	3: {{0x80, 0xBF, 2}},
	4: {{0xA0, 0xBF, 1}},
	5: {{0x80, 0x9F, 1}},
	6: {{0x90, 0xBF, 2}},
	7: {{0x80, 0x8F, 2}},
}

// maxPairs bounds the search for one slice.
const maxPairs = 250

// slice returns the largest slice all of whose texts a state allows. That lexemes
// may end within them does not matter: what goes on from there is allowed anyway.
func (l *lexer) slice(s *lexState, work *int) (int, error) {
	if l.anyPlain(s, work) {
		return sliceCount - 1, nil
	}
	n, _, err := search(s, l.class[:], func(s *lexState, b byte) (*lexState, error) { return l.step(s, b, work) }, l.dead)
	return n, err
}

// anyPlain reports whether s surely allows any plain text. It looks at what s matches
// but for finitely many strings, such as the names that a member may not have: if every
// plain text begins some string, it begins strings without end, of which finitely many
// do not matter. Most states of one grammar are the same, looked at so.
func (l *lexer) anyPlain(s *lexState, work *int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.exprs
	fuel := min(l.limits.Fuel, maxPlain)
	x.budget("steps for one state of the lexer", fuel)
	defer func() { *work += fuel - x.fuel }()
	var infinite []expr
	for _, p := range s.parts {
		if l.lexemes[p.lexeme].shortest {
			return false
		}
		if e := x.loosen(p.rest, maxLoosen); e != nothing {
			infinite = append(infinite, e)
		}
	}
	e := x.alt(infinite...)
	if all, ok := l.plain[e]; ok || x.err != nil {
		return all
	}
	// Where steps do not suffice, the state is looked at as it is.
	_, all, _ := search(e, l.class[:], func(e expr, b byte) (expr, error) {
		c := l.class[b]
		if d := x.derive(e, l.reps[c], c); x.matchesSome(d, l.reps) {
			return d, x.err
		}
		return nothing, x.err
	}, nothing)
	if x.take(mapBytes) {
		l.plain[e] = all
	}
	return all
}

// maxPlain bounds the steps of one such search.
const maxPlain = 100_000

// maxLoosen bounds how deep finite parts are looked for.
const maxLoosen = 8

// loosen returns an expression of which all strings but finitely many are strings of e.
func (x *exprs) loosen(e expr, depth int) expr {
	n := x.nodes[e]
	switch {
	case n.finite:
		return nothing
	case depth == 0 || !n.negative:
		return e
	}
	kids := x.kids(e)
	switch n.op {
	case exCat:
		// What a finite part makes of finitely many strings is finitely many.
		switch head, tail := expr(kids[0]), expr(kids[1]); {
		case x.nodes[head].finite:
			return x.cat(head, x.loosen(tail, depth-1))
		case x.nodes[tail].finite:
			return x.cat(x.loosen(head, depth-1), tail)
		}
	case exAlt, exAnd:
		var list []expr
		for _, k := range slices.Clone(kids) {
			k := expr(k)
			if n.op == exAnd && x.nodes[k].op == exNot && x.nodes[x.kids(k)[0]].finite {
				continue
			}
			list = append(list, x.loosen(k, depth-1))
		}
		if n.op == exAlt {
			return x.alt(list...)
		}
		return x.and(list...)
	}
	return e
}

// search returns the largest slice all of whose texts lead from a state to living
// ones, as far as it looks, and whether any plain text does. Bytes of one class lead
// the same way.
func search[S comparable](from S, class []uint8, step func(S, byte) (S, error), dead S) (slice int, any bool, err error) {
	type pair struct {
		state S
		at    uint8
	}
	seen := map[pair]bool{{from, 0}: true}
	list := []pair{{from, 0}}
	best, chars := 0, 0
	for len(list) > 0 {
		// One more byte for all of list; a character more when all are between two.
		chars++
		var level []pair
		for i := 0; i < len(list); i++ {
			p := list[i]
			for _, e := range plainEdges[p.at] {
				for b := int(e.lo); b <= int(e.hi); b++ {
					if b > int(e.lo) && class[b] == class[b-1] {
						continue
					}
					t, err := step(p.state, byte(b))
					if err != nil {
						return 0, false, err
					}
					if t == dead {
						return best, false, nil
					}
					q := pair{t, e.to}
					if seen[q] {
						continue
					}
					if len(seen) >= maxPairs {
						return best, false, nil
					}
					seen[q] = true
					if e.to == 0 {
						level = append(level, q)
					} else {
						list = append(list, q)
					}
				}
			}
		}
		list = level
		for best+1 < sliceCount && chars >= sliceChars[best+1] {
			best++
		}
	}
	return sliceCount - 1, true, nil
}
