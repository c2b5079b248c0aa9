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
