package main

import (
	"fmt"
	"slices"
)

// A node is a vector of straight-line code: what an instruction makes, or a load.
type node struct {
	op   string // load, store, add, sub, mul, fma or fms
	args []*node
	by   int    // constant of mul, fma and fms
	from string // instruction that puts a load's address in AX
	at   string // and where it is then

	uses []int // what reads it, last first
	slot int   // scratch memory that holds it, or -1
	reg  int   // register that holds it, or -1
}

// A value is a node, or its negative.
type value struct {
	n   *node
	neg bool
}

// A straight collects straight-line code on vectors and gives it registers: what does not
// fit lies in scratch memory, the value first whose next use is furthest (Belady, "A Study
// of Replacement Algorithms for a Virtual-Storage Computer", 1966).
type straight struct {
	v      vec
	table  string // constants
	consts []float32
	steps  []*node // in order
}

func (s *straight) constant(by float64) int {
	k := float32(by)
	if i := slices.Index(s.consts, k); i >= 0 {
		return i
	}
	s.consts = append(s.consts, k)
	return len(s.consts) - 1
}

func (s *straight) make(op string, by float64, args ...*node) value {
	n := &node{op: op, args: args, slot: -1, reg: -1}
	switch op {
	case "mul", "fma", "fms":
		n.by = s.constant(by)
	}
	s.steps = append(s.steps, n)
	return value{n: n}
}

// load is a vector in memory at the operand at, once from was executed.
func (s *straight) load(from, at string) value {
	v := s.make("load", 0)
	v.n.from, v.n.at = from, at
	return v
}

// store writes x to memory.
func (s *straight) store(x value, from, at string) {
	if x.neg {
		x = s.make("mul", -1, x.n)
	}
	n := s.make("store", 0, x.n).n
	n.from, n.at = from, at
}

func (s *straight) add(x, y value) value {
	switch {
	case x.neg && y.neg:
		sum := s.make("add", 0, x.n, y.n)
		return value{sum.n, true}
	case x.neg:
		return s.make("sub", 0, y.n, x.n)
	case y.neg:
		return s.make("sub", 0, x.n, y.n)
	}
	return s.make("add", 0, x.n, y.n)
}

func (s *straight) sub(x, y value) value { return s.add(x, value{y.n, !y.neg}) }

func (s *straight) mul(by float64, x value) value {
	if x.neg {
		by = -by
	}
	return s.make("mul", by, x.n)
}

// fma is sum + by·x.
func (s *straight) fma(sum value, by float64, x value) value {
	if x.neg {
		by = -by
	}
	if sum.neg {
		return s.make("fms", by, sum.n, x.n)
	}
	return s.make("fma", by, sum.n, x.n)
}

// emit writes the code with registers numbered below count. Scratch memory begins at the
// operand base, slot first of vectors there; it returns how many slots are used up to.
func (s *straight) emit(a *file, count int, base string, first int) int {
	for i, n := range s.steps {
		for _, x := range n.args {
			x.uses = append([]int{i}, x.uses...)
		}
	}
	holds := make([]*node, count)
	var free []int
	slots := first
	home := func(n *node) string { return mem(4*s.v.lanes*n.slot, base) }
	drop := func(n *node) { // what is read no more
		if len(n.uses) > 0 {
			return
		}
		if n.reg >= 0 {
			holds[n.reg], n.reg = nil, -1
		}
		if n.slot >= 0 {
			free, n.slot = append(free, n.slot), -1
		}
	}
	// register frees one that holds none of keep.
	register := func(keep ...*node) int {
		worst, far := -1, -1
		for r, n := range holds {
			if n == nil {
				return r
			}
			if next := n.uses[len(n.uses)-1]; next > far && !slices.Contains(keep, n) {
				worst, far = r, next
			}
		}
		n := holds[worst]
		if n.slot < 0 && n.op != "load" {
			if len(free) > 0 {
				n.slot, free = free[len(free)-1], free[:len(free)-1]
			} else {
				n.slot, slots = slots, slots+1
			}
			a.f("VMOVUPS %s, %s", s.v.reg(worst), home(n))
		}
		n.reg = -1
		return worst
	}
	fetch := func(n *node, keep ...*node) {
		if n.reg >= 0 {
			return
		}
		r := register(keep...)
		if n.slot >= 0 {
			a.f("VMOVUPS %s, %s", home(n), s.v.reg(r))
		} else {
			if n.from != "" {
				a.f("%s", n.from)
			}
			a.f("VMOVUPS %s, %s", n.at, s.v.reg(r))
		}
		holds[r], n.reg = n, r
	}
	for _, n := range s.steps {
		if n.op == "load" {
			continue // when it is read first
		}
		for _, x := range n.args {
			fetch(x, n.args...)
		}
		for _, x := range n.args {
			x.uses = x.uses[:len(x.uses)-1]
		}
		if n.op == "store" {
			if n.from != "" {
				a.f("%s", n.from)
			}
			a.f("VMOVUPS %s, %s", s.v.reg(n.args[0].reg), n.at)
			drop(n.args[0])
			continue
		}
		x := s.v.reg(n.args[0].reg)
		y := x
		if len(n.args) > 1 {
			y = s.v.reg(n.args[1].reg)
		}
		to := -1
		if n.op == "fma" || n.op == "fms" { // in the place of the sum
			sum := n.args[0]
			if to = sum.reg; len(sum.uses) > 0 {
				keep := slices.Clone(n.args)
				to = register(keep...)
				a.f("VMOVAPS %s, %s", x, s.v.reg(to))
			} else {
				holds[to], sum.reg = nil, -1
			}
		}
		for _, arg := range n.args {
			drop(arg)
		}
		if to < 0 {
			to = register(n.args...)
		}
		d := s.v.reg(to)
		c := constant{table: s.table, values: s.consts, i: n.by}
		switch n.op {
		case "add":
			a.f("VADDPS %s, %s, %s", y, x, d)
		case "sub":
			a.f("VSUBPS %s, %s, %s", y, x, d)
		case "mul":
			s.v.with(a, "VMULPS", c, x+", "+d)
		case "fma":
			s.v.with(a, "VFMADD231PS", c, y+", "+d)
		case "fms":
			s.v.with(a, "VFMSUB231PS", c, y+", "+d)
		default:
			panic(fmt.Sprintf("no instruction for %q", n.op))
		}
		holds[to], n.reg = n, to
	}
	return slots
}
