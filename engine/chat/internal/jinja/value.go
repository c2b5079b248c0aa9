package jinja

import (
	"math/big"
	"unicode/utf8"
)

// A Value is a Python value: None, Bool, Int, Float, Str, *List, *Dict, or one
// of the kinds only the engine makes.
type Value interface {
	// typeName is the name of the Python type, for messages.
	typeName() string
}

// NoneType is the type of None.
type NoneType struct{}

// None is Python's None.
var None Value = NoneType{}

type (
	// A Bool is Python's bool.
	Bool bool
	// An Int is a Python int that fits; others are big.
	Int int64
	// A Float is Python's float.
	Float float64
	// A List is Python's list. Templates cannot change one.
	List struct{ items []Value }

	tuple struct {
		items  []Value
		fields []string // set for the named tuples of groupby
	}
	bigInt struct{ n *big.Int }

	// undefined is what a missing name or attribute evaluates to.
	undefined struct {
		message string
		kind    string // exception class; "" is UndefinedError
	}
)

// NewList returns a list of items, which it keeps.
func NewList(items ...Value) *List { return &List{items} }

// typeName is the name of the Python type.
func (NoneType) typeName() string  { return "NoneType" }
func (Bool) typeName() string      { return "bool" }
func (Int) typeName() string       { return "int" }
func (bigInt) typeName() string    { return "int" }
func (Float) typeName() string     { return "float" }
func (Str) typeName() string       { return "str" }
func (*List) typeName() string     { return "list" }
func (tuple) typeName() string     { return "tuple" }
func (undefined) typeName() string { return "Undefined" }

func (u undefined) err() thrown {
	kind := u.kind
	if kind == "" {
		kind = "UndefinedError"
	}
	return raisef(kind, "%s", u.message)
}

// defined throws if v is undefined.
func defined(v Value) {
	if u, ok := v.(undefined); ok {
		panic(u.err())
	}
}

func undefinedName(name string) undefined {
	return undefined{message: "'" + name + "' is undefined"}
}

// undefinedAttr is what a missing attribute or element of v evaluates to.
func undefinedAttr(v, key Value) undefined {
	owner := v.typeName() + " object"
	switch v.(type) {
	case NoneType:
		owner = "None"
	case *namespace, *macro, *loop, *cycler, *joiner:
		owner = "jinja2." + owner
	}
	if k, ok := key.(Str); ok {
		return undefined{message: "'" + owner + "' has no attribute " + quote(k.s)}
	}
	text := "of type " + key.typeName()
	if isNumber(key) {
		text = numberText(key)
	}
	return undefined{message: owner + " has no element " + text}
}

// A sized value has a length without being iterated.
type sized interface{ length() int }

func (l *List) length() int { return len(l.items) }
func (t tuple) length() int { return len(t.items) }
func (s Str) length() int   { return s.runes() }

// length is Python's len.
func length(v Value) int {
	switch v := v.(type) {
	case undefined:
		return 0
	case sized:
		return v.length()
	case *loop:
		return v.count()
	}
	panic(typeErrorf("object of type '%s' has no len()", v.typeName()))
}

// truth is Python's bool.
func truth(v Value) bool {
	switch v := v.(type) {
	case NoneType, undefined:
		return false
	case Bool:
		return bool(v)
	case Int:
		return v != 0
	case bigInt:
		return v.n.Sign() != 0
	case Float:
		return v != 0
	case Str:
		return v.s != ""
	case sized:
		return v.length() > 0
	}
	return true
}

// An iterator yields values one at a time. Generators are lazy, as in Python:
// an error in the middle surfaces only when the middle is reached.
type iterator func() (v Value, ok bool)

func iterItems(items []Value) iterator {
	i := 0
	return func() (Value, bool) {
		if i == len(items) {
			return nil, false
		}
		i++
		return items[i-1], true
	}
}

func iterRunes(s Str) iterator {
	at := 0
	return func() (Value, bool) {
		if at == len(s.s) {
			return nil, false
		}
		_, n := utf8.DecodeRuneInString(s.s[at:])
		from := at
		at += n
		if len(s.marks) == 0 {
			return Str{s: s.s[from:at]}, true
		}
		return s.sub(from, at), true
	}
}

// A generator is a value that can be run through once.
type generator struct {
	next iterator
	name string // Python's name for the type
}

func (g *generator) typeName() string { return g.name }

// newGenerator returns a generator. Each step counts as nested evaluation,
// because generators can be stacked without end.
func (r *run) newGenerator(next iterator) *generator {
	return &generator{name: "generator", next: func() (Value, bool) {
		r.enter()
		v, ok := next()
		r.depth--
		return v, ok
	}}
}

// An iterable is a value that yields others.
type iterable interface{ iter() iterator }

func (l *List) iter() iterator      { return iterItems(l.items) }
func (t tuple) iter() iterator      { return iterItems(t.items) }
func (s Str) iter() iterator        { return iterRunes(s) }
func (g *generator) iter() iterator { return g.next }
func (undefined) iter() iterator    { return iterItems(nil) }

// iterate is Python's iter.
func iterate(v Value) iterator {
	if it, ok := v.(iterable); ok {
		return it.iter()
	}
	panic(notIterable(v))
}

// iterateLater is iterate, whose error comes with the first element.
func iterateLater(v Value) iterator {
	if it, ok := v.(iterable); ok {
		return it.iter()
	}
	return func() (Value, bool) { panic(notIterable(v)) }
}

func notIterable(v Value) thrown { return typeErrorf("'%s' object is not iterable", v.typeName()) }

// collect is Python's list, charging r for each element.
func (r *run) collect(v Value) []Value {
	switch v := v.(type) {
	case *List:
		return v.items
	case tuple:
		return v.items
	}
	return r.drain(iterate(v))
}

// drain runs next to its end.
func (r *run) drain(next iterator) []Value {
	var items []Value
	for {
		v, ok := next()
		if !ok {
			return items
		}
		r.charge(valueSize)
		items = append(items, v)
	}
}

// A rangeValue is Python's range.
type rangeValue struct{ start, n, step int64 }

func (rangeValue) typeName() string { return "range" }
func (v rangeValue) length() int    { return int(v.n) }

func (v rangeValue) at(i int64) Value { return Int(v.start + i*v.step) }

func (v rangeValue) iter() iterator {
	var i int64
	return func() (Value, bool) {
		if i == v.n {
			return nil, false
		}
		i++
		return v.at(i - 1), true
	}
}
