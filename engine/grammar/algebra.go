package grammar

import (
	"slices"
)

func (x *exprs) cat(a, b expr) expr {
	switch {
	case a == nothing || b == nothing || !x.spend(1):
		return nothing
	case a == empty:
		return b
	case b == empty:
		return a
	case a == everything && b == everything:
		return everything
	}
	// The head of a chain is no chain: turn (p q) b into p (q b).
	var spine []expr
	for x.nodes[a].op == exCat {
		k := x.kids(a)
		spine = append(spine, expr(k[0]))
		a = expr(k[1])
	}
	if !x.spend(len(spine)) {
		return nothing
	}
	b = x.cat2(a, b)
	for i := len(spine) - 1; i >= 0; i-- {
		b = x.cat2(spine[i], b)
	}
	return b
}

func (x *exprs) cat2(a, b expr) expr {
	if a == everything && (b == everything || x.nodes[b].op == exCat && expr(x.kids(b)[0]) == everything) {
		return b
	}
	return x.intern(exCat, []int32{int32(a), int32(b)}, x.nullable(a) && x.nullable(b), x.nodes[a].negative || x.nodes[b].negative)
}

// flatten lists the operands of nested nodes of one kind, ascending and once.
func (x *exprs) flatten(op exprOp, list []expr) []expr {
	var out []expr
	for _, e := range list {
		if x.nodes[e].op == op {
			for _, k := range x.kids(e) {
				out = append(out, expr(k))
			}
		} else {
			out = append(out, e)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// alt returns the union. Sets become one set, and what begins with the same set is
// factored, so that a list of literals is a trie.
func (x *exprs) alt(list ...expr) expr {
	out := x.flatten(exAlt, list)
	if !x.spend(len(out)) {
		return nothing
	}
	if slices.Contains(out, everything) {
		return everything
	}
	var set byteSet
	heads := map[expr]int{} // of chains, how often
	n := 0
	for _, e := range out {
		switch x.nodes[e].op {
		case exNothing:
			continue
		case exSet:
			s := x.setOf(e)
			set.or(&s)
			continue
		case exCat:
			if h := expr(x.kids(e)[0]); x.nodes[h].op == exSet {
				heads[h]++
			}
		}
		out[n] = e
		n++
	}
	out = out[:n]
	if !set.empty() {
		out = append(out, x.set(&set))
	}
	if len(heads) > 0 {
		out = x.factor(out, heads)
	}
	// The empty string is nothing new where another alternative has it.
	if i := slices.Index(out, empty); i >= 0 && slices.ContainsFunc(out, func(e expr) bool { return e != empty && x.nullable(e) }) {
		out = slices.Delete(out, i, i+1)
	}
	return x.list(exAlt, out, nothing)
}

// factor joins the chains whose head, a set, comes more than once.
func (x *exprs) factor(list []expr, heads map[expr]int) []expr {
	tails := map[expr][]expr{}
	var order []expr
	n := 0
	for _, e := range list {
		if x.nodes[e].op == exCat {
			k := x.kids(e)
			if h := expr(k[0]); heads[h] > 1 {
				if tails[h] == nil {
					order = append(order, h)
				}
				tails[h] = append(tails[h], expr(k[1]))
				continue
			}
		}
		list[n] = e
		n++
	}
	list = list[:n]
	for _, h := range order {
		list = append(list, x.cat(h, x.alt(tails[h]...)))
	}
	return list
}

func (x *exprs) and(list ...expr) expr {
	out := x.flatten(exAnd, list)
	if !x.spend(len(out)) {
		return nothing
	}
	set, sets := allBytes, 0
	n := 0
	for _, e := range out {
		switch {
		case e == nothing:
			return nothing
		case e == everything:
			continue
		case e == empty:
			if slices.ContainsFunc(out, func(e expr) bool { return !x.nullable(e) }) {
				return nothing
			}
			return empty
		case x.nodes[e].op == exSet:
			s := x.setOf(e)
			set.and(&s)
			sets++
			continue
		}
		out[n] = e
		n++
	}
	out = out[:n]
	if sets > 0 {
		if set.empty() {
			return nothing
		}
		out = append(out, x.set(&set))
	}
	if out = x.absorb(out); out == nil {
		return nothing
	}
	return x.list(exAnd, out, everything)
}

// maxAbsorb bounds the operands that absorb compares with each other.
const maxAbsorb = 16

// absorb simplifies an intersection: a and (a or b) is a, and a without (a or b) is
// nothing, for which it returns nil. Proving the latter by a search is long where a is
// the strings of a language with many escapes.
func (x *exprs) absorb(list []expr) []expr {
	if len(list) < 2 || len(list) > maxAbsorb {
		return list
	}
	drop := 0 // bits of list
	for i, e := range list {
		of, negated := e, x.nodes[e].op == exNot
		if negated {
			of = expr(x.kids(e)[0])
		} else if x.nodes[e].op != exAlt {
			continue
		}
		for j, k := range list {
			if i == j || drop>>j&1 != 0 || !x.among(k, of) {
				continue
			}
			if negated {
				return nil
			}
			drop |= 1 << i
			break
		}
	}
	n := 0
	for i, e := range list {
		if drop>>i&1 == 0 {
			list[n] = e
			n++
		}
	}
	return list[:n]
}

// among reports whether each alternative of e is one of those of f.
func (x *exprs) among(e, f expr) bool {
	if e == f {
		return true
	}
	if x.nodes[f].op != exAlt {
		return false
	}
	of := x.kids(f)
	has := func(k int32) bool { _, ok := slices.BinarySearch(of, k); return ok }
	if x.nodes[e].op != exAlt {
		return has(int32(e))
	}
	for _, k := range x.kids(e) {
		if !has(k) {
			return false
		}
	}
	return true
}

// list interns a union or an intersection; none stands for one without operands.
func (x *exprs) list(op exprOp, list []expr, none expr) expr {
	switch len(list) {
	case 0:
		return none
	case 1:
		return list[0]
	}
	slices.Sort(list)
	args := make([]int32, len(list))
	nullable, negative := op == exAnd, op == exAnd
	for i, e := range list {
		args[i] = int32(e)
		if op == exAnd {
			nullable = nullable && x.nullable(e)
		} else {
			nullable = nullable || x.nullable(e)
		}
		negative = negative || x.nodes[e].negative
	}
	return x.intern(op, args, nullable, negative)
}

func (x *exprs) not(e expr) expr {
	switch {
	case e == nothing:
		return everything
	case x.nodes[e].op == exNot:
		return expr(x.kids(e)[0])
	}
	return x.intern(exNot, []int32{int32(e)}, !x.nullable(e), true)
}

// joined returns how often e may come in (e{m,n}){min,max}, if that is any number from lo
// to hi: what one round more begins with is then no further than what came before. So
// counts in counts do not multiply their states.
func joined(m, n, min, max int) (lo, hi int, ok bool) {
	switch {
	case min == max:
	case n < 0:
		ok = min > 0 || m <= 1
	default:
		ok = m*(min+1) <= n*min+1
	}
	if !ok && min != max {
		return 0, 0, false
	}
	lo, hi = m*min, n*max
	if n < 0 || max < 0 {
		hi = Unbounded
	}
	if lo > maxRepeat || hi > maxRepeat {
		return 0, 0, false
	}
	return lo, hi, true
}

// repeat returns e from min to max times; max < 0 has no end.
func (x *exprs) repeat(e expr, min, max int) expr {
	if max == 0 || e == empty {
		return empty
	}
	if e == nothing {
		if min == 0 {
			return empty
		}
		return nothing
	}
	if x.nullable(e) {
		min = 0
	}
	if min == 1 && max == 1 || e == everything {
		return e
	}
	n := &x.nodes[e]
	switch {
	case max < 0 && min == 0 && n.op == exSet && x.setOf(e) == allBytes:
		return everything
	case n.op == exRepeat:
		k := x.kids(e)
		if lo, hi, ok := joined(int(k[1]), int(k[2]), min, max); ok {
			return x.repeat(expr(k[0]), lo, hi)
		}
	}
	if max == 1 { // e?
		return x.alt(empty, e)
	}
	return x.intern(exRepeat, []int32{int32(e), int32(min), int32(max)}, min == 0, n.negative)
}
