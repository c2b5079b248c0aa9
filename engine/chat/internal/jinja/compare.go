package jinja

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

// maxValueDepth bounds recursion through nested values.
const maxValueDepth = 400

func errTooDeep() thrown { return limitf("a value is nested more than %d deep", maxValueDepth) }

// equal is Python's ==.
func (r *run) equal(a, b Value) bool { return r.equalAt(a, b, 0) }

func (r *run) equalAt(a, b Value, depth int) bool {
	if depth > maxValueDepth {
		panic(errTooDeep())
	}
	r.charge(1)
	switch x := a.(type) {
	case NoneType:
		_, ok := b.(NoneType)
		return ok
	case undefined:
		_, ok := b.(undefined)
		return ok
	case Str:
		y, ok := b.(Str)
		return ok && x.s == y.s
	case *List:
		y, ok := b.(*List)
		if !ok {
			return false
		}
		return r.equalItems(x.items, y.items, depth+1)
	case tuple:
		y, ok := b.(tuple)
		if !ok {
			return false
		}
		return r.equalItems(x.items, y.items, depth+1)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || len(x.keys) != len(y.keys) {
			return false
		}
		for i, h := range x.hash {
			v, ok := y.get(h)
			if !ok {
				return false
			}
			if same := r.equalAt(x.vals[i], v, depth+1); !same {
				return false
			}
		}
		return true
	case rangeValue:
		y, ok := b.(rangeValue)
		return ok && x == y
	}
	if c, ok := compareNumbers(a, b); ok {
		return c == 0
	}
	switch b.(type) {
	case Str, tuple, undefined:
		return false // not comparable in Go
	}
	if isNumber(a) || isNumber(b) {
		return false
	}
	return a == b // engine objects: pointers
}

func (r *run) equalItems(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if same := r.equalAt(a[i], b[i], depth); !same {
			return false
		}
	}
	return true
}

// unordered is the result of comparing with NaN.
const unordered = 2

// compareNumbers orders two numbers: -1, 0, 1 or unordered.
func compareNumbers(a, b Value) (int, bool) {
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	x, xf := a.(Float)
	y, yf := b.(Float)
	if xf && math.IsNaN(float64(x)) || yf && math.IsNaN(float64(y)) {
		return unordered, true
	}
	if i, ok := smallInt(a); ok {
		if j, ok := smallInt(b); ok {
			return cmp.Compare(i, j), true
		}
	}
	if xf && yf {
		return cmp.Compare(x, y), true
	}
	// An int and a float: exactly, as Python does.
	if xf && math.IsInf(float64(x), 0) {
		return sign(x), true
	}
	if yf && math.IsInf(float64(y), 0) {
		return -sign(y), true
	}
	return ratOf(a).Cmp(ratOf(b)), true
}

func sign(f Float) int {
	if f < 0 {
		return -1
	}
	return 1
}

func ratOf(v Value) *big.Rat {
	if f, ok := v.(Float); ok {
		return new(big.Rat).SetFloat64(float64(f))
	}
	return new(big.Rat).SetInt(bigOf(v))
}

// order compares with op, one of < <= > >=.
func (r *run) order(op string, a, b Value) bool { return r.orderAt(op, a, b, 0) }

func (r *run) orderAt(op string, a, b Value, depth int) bool {
	if depth > maxValueDepth {
		panic(errTooDeep())
	}
	defined(a)
	defined(b)
	if c, ok := compareNumbers(a, b); ok {
		return c != unordered && ordered(op, c)
	}
	if x, ok := a.(Str); ok {
		if y, ok := b.(Str); ok {
			return ordered(op, strings.Compare(x.s, y.s)) // UTF-8 sorts as code points do
		}
	}
	x, y, ok := itemPair(a, b)
	if !ok {
		panic(typeErrorf("'%s' not supported between instances of '%s' and '%s'", op, a.typeName(), b.typeName()))
	}
	for i := range min(len(x), len(y)) {
		if !r.equalAt(x[i], y[i], depth+1) {
			return r.orderAt(op, x[i], y[i], depth+1)
		}
	}
	return ordered(op, cmp.Compare(len(x), len(y)))
}

// itemPair returns the items of two lists or two tuples.
func itemPair(a, b Value) (x, y []Value, ok bool) {
	switch a := a.(type) {
	case *List:
		if b, ok := b.(*List); ok {
			return a.items, b.items, true
		}
	case tuple:
		if b, ok := b.(tuple); ok {
			return a.items, b.items, true
		}
	}
	return nil, nil, false
}

func ordered(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// contains is Python's in.
func (r *run) contains(v, in Value) bool {
	switch c := in.(type) {
	case Str:
		s, ok := v.(Str)
		if !ok {
			panic(typeErrorf("'in <string>' requires string as left operand, not %s", v.typeName()))
		}
		r.charge(len(c.s) / 16)
		return strings.Contains(c.s, s.s)
	case *Dict:
		_, ok := c.lookup(v)
		return ok
	case *dictView:
		if c.kind == "keys" {
			_, ok := c.d.lookup(v)
			return ok
		}
	}
	it, ok := in.(iterable)
	if !ok {
		panic(typeErrorf("argument of type '%s' is not iterable", in.typeName()))
	}
	next := it.iter()
	for {
		item, ok := next()
		if !ok {
			return false
		}
		r.charge(1)
		if same := r.equal(item, v); same {
			return same
		}
	}
}

// same is Python's is.
func same(a, b Value) bool {
	switch x := a.(type) {
	case Str:
		y, ok := b.(Str)
		return ok && x.s == y.s
	case tuple:
		y, ok := b.(tuple)
		return ok && len(x.items) == 0 && len(y.items) == 0
	case bigInt, Float, undefined:
		return false
	}
	switch b.(type) {
	case Str, tuple, undefined:
		return false
	}
	return a == b
}
