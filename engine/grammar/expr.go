package grammar

import (
	"math/bits"
	"slices"
	"unsafe"
)

// An expr is the number of a regular expression in its store. Equal expressions
// (up to the rewriting of the constructors) have equal numbers.
type expr int32

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }
func (s *byteSet) or(t *byteSet)   { s[0] |= t[0]; s[1] |= t[1]; s[2] |= t[2]; s[3] |= t[3] }
func (s *byteSet) and(t *byteSet)  { s[0] &= t[0]; s[1] &= t[1]; s[2] &= t[2]; s[3] &= t[3] }
func (s *byteSet) empty() bool     { return *s == byteSet{} }
func (s *byteSet) size() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

func (s *byteSet) addRange(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		s.add(byte(b))
	}
}

var allBytes = byteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

type exprOp uint8

const (
	exNothing exprOp = iota // args: none
	exEmpty                 // none
	exSet                   // 8 halves of a byteSet
	exCat                   // head, tail; the head is no exCat
	exAlt                   // two or more, ascending
	exAnd                   // two or more, ascending
	exNot                   // one
	exRepeat                // body, min, max
	exTable                 // number of the table, state
)

type exprNode struct {
	op       exprOp
	nullable bool
	negative bool  // holds exAnd or exNot, so it may match nothing without being nothing
	finite   bool  // surely matches only so many strings
	life     life  // of a negative one
	least    int32 // no shorter string matches
	args     int32
	n        int32
}

// exprs is a store of hash-consed expressions. Its methods are not safe for
// concurrent use. When fuel or limit is used up, err is set and results are
// meaningless until it is cleared; the store stays whole.
type exprs struct {
	nodes    []exprNode
	args     []int32
	table    []expr // open addressing by hash; 0 is free, since nothing needs no lookup
	derivs   derivs
	firsts   map[expr]byteSet // while a grammar is compiled
	ways     ways
	tables   []*table
	bytewise bool // derivatives are remembered by byte, not by class
	limit    int
	bytes    int // taken of memory
	memory   int
	fuel     int
	name     string // limit that fuel stands for
	max      int
	err      error
}

const (
	nothing    expr = iota // no string
	empty                  // the empty string
	everything             // any string
)

func newExprs(l *Limits) *exprs {
	x := &exprs{table: make([]expr, 1024), firsts: map[expr]byteSet{}, limit: l.Expressions, memory: l.Memory}
	x.nodes = append(x.nodes, exprNode{op: exNothing, finite: true})
	x.budget("", 1)
	x.intern(exEmpty, nil, true, false)
	x.intern(exNot, []int32{int32(nothing)}, true, false) // everything; surely alive, so not negative
	return x
}

// budget gives the next operations fuel; running out is an error of this name.
func (x *exprs) budget(name string, fuel int) {
	x.fuel, x.name, x.max, x.err = fuel, name, fuel, nil
}

// What is kept takes so many bytes: slices that grow have half as much again, hash
// tables three places for each two entries.
const (
	exprBytes  = int(unsafe.Sizeof(exprNode{}))*3/2 + 3*int(unsafe.Sizeof(expr(0)))
	argBytes   = 4 * 3 / 2
	mapBytes   = 4 * 8 // one entry of a map of words
	firstBytes = mapBytes + 2*int(unsafe.Sizeof(byteSet{}))
)

// take counts n bytes of memory and reports whether there are as many.
func (x *exprs) take(n int) bool {
	if x.bytes > x.memory-n {
		if x.err == nil {
			x.err = x.noMemory()
		}
		return false
	}
	x.bytes += n
	return true
}

func (x *exprs) noMemory() error {
	return &LimitError{"bytes of expressions and states of the lexer", x.memory}
}

// forget drops what only compiling needs.
func (x *exprs) forget() {
	x.bytes -= firstBytes * len(x.firsts)
	x.firsts = nil
}

// size is how many bytes of memory are used.
func (x *exprs) size() int64 {
	return int64(x.bytes) + int64(unsafe.Sizeof(deriv{}))*int64(len(x.derivs.entries))
}

// full reports whether no more can be made.
func (x *exprs) full() bool {
	return len(x.nodes) >= x.limit || x.bytes > x.memory-1<<10
}

// spend takes n units of fuel and reports whether there was enough.
func (x *exprs) spend(n int) bool {
	if x.err != nil {
		return false
	}
	if x.fuel -= n; x.fuel < 0 {
		x.err = &LimitError{x.name, x.max}
		return false
	}
	return true
}

func (x *exprs) kids(e expr) []int32 {
	n := &x.nodes[e]
	return x.args[n.args : n.args+n.n]
}

func hashArgs(op exprOp, args []int32) uint64 {
	h := uint64(op) + 0x9E3779B97F4A7C15
	for _, a := range args {
		h = (h ^ uint64(uint32(a))) * 0xFF51AFD7ED558CCD
		h ^= h >> 32
	}
	return h
}

// intern returns the expression with these parts. args may be part of x.args.
func (x *exprs) intern(op exprOp, args []int32, nullable, negative bool) expr {
	mask := uint64(len(x.table) - 1)
	i := hashArgs(op, args) & mask
	for ; x.table[i] != 0; i = (i + 1) & mask {
		e := x.table[i]
		if x.nodes[e].op == op && slices.Equal(x.kids(e), args) {
			return e
		}
	}
	if len(x.nodes) >= x.limit {
		if x.err == nil {
			x.err = &LimitError{"expressions", x.limit}
		}
		return nothing
	}
	if !x.take(exprBytes + argBytes*len(args)) {
		return nothing
	}
	e := expr(len(x.nodes))
	least := x.least(op, args, nullable)
	x.nodes = append(x.nodes, exprNode{op, nullable, negative, x.finite(op, args), unsure, least, int32(len(x.args)), int32(len(args))})
	x.args = append(x.args, args...)
	x.table[i] = e
	if len(x.nodes)*2 > len(x.table) {
		x.grow()
	}
	return e
}

// least returns a lower bound of the length of strings.
func (x *exprs) least(op exprOp, args []int32, nullable bool) int32 {
	const long = 1 << 30
	if nullable {
		return 0
	}
	n := int64(0)
	switch op {
	case exCat:
		n = int64(x.nodes[args[0]].least) + int64(x.nodes[args[1]].least)
	case exAlt:
		n = long
		for _, a := range args {
			n = min(n, int64(x.nodes[a].least))
		}
	case exAnd:
		for _, a := range args {
			n = max(n, int64(x.nodes[a].least))
		}
	case exRepeat:
		n = int64(x.nodes[args[0]].least) * int64(args[1])
	case exTable:
		n = int64(x.tables[args[0]].far[args[1]])
	}
	return int32(min(max(n, 1), long))
}

// finite reports whether there are surely only so many strings.
func (x *exprs) finite(op exprOp, args []int32) bool {
	all := func(list []int32) bool {
		return !slices.ContainsFunc(list, func(a int32) bool { return !x.nodes[a].finite })
	}
	switch op {
	case exNothing, exEmpty, exSet:
		return true
	case exCat, exAlt:
		return all(args)
	case exAnd:
		return slices.ContainsFunc(args, func(a int32) bool { return x.nodes[a].finite })
	case exRepeat:
		return args[2] >= 0 && all(args[:1])
	}
	return false
}

func (x *exprs) grow() {
	x.table = make([]expr, 2*len(x.table))
	mask := uint64(len(x.table) - 1)
	for e := 1; e < len(x.nodes); e++ {
		i := hashArgs(x.nodes[e].op, x.kids(expr(e))) & mask
		for x.table[i] != 0 {
			i = (i + 1) & mask
		}
		x.table[i] = expr(e)
	}
}

func (x *exprs) nullable(e expr) bool { return x.nodes[e].nullable }

func (x *exprs) set(s *byteSet) expr {
	if s.empty() {
		return nothing
	}
	var args [8]int32
	for i, w := range s {
		args[2*i], args[2*i+1] = int32(uint32(w)), int32(uint32(w>>32))
	}
	return x.intern(exSet, args[:], false, false)
}

func (x *exprs) setOf(e expr) (s byteSet) {
	a := x.kids(e)
	for i := range s {
		s[i] = uint64(uint32(a[2*i])) | uint64(uint32(a[2*i+1]))<<32
	}
	return s
}

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
