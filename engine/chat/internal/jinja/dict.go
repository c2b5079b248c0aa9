package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Dict is Python's dict: it keeps the order in which keys were first set.
type Dict struct {
	keys  []Value
	hash  []hashKey
	vals  []Value
	index map[hashKey]int // nil while the dict is small
}

// A hashKey identifies a value used as a key. Keys that are equal in Python,
// such as 1, 1.0 and True, have equal hashKeys.
type hashKey struct {
	kind byte
	num  int64
	str  string
	ptr  any
}

// smallDict is the size up to which a dict is searched by walking it.
const smallDict = 12

// NewDict returns an empty dict.
func NewDict() *Dict { return &Dict{} }

func (*Dict) typeName() string { return "dict" }
func (d *Dict) length() int    { return len(d.keys) }
func (d *Dict) iter() iterator { return iterItems(d.keys) }

// Set sets a key of the program's own and returns d.
func (d *Dict) Set(key string, v Value) *Dict {
	d.set(hashKey{kind: 's', str: key}, Text(key), v)
	return d
}

// With returns a copy of d with one key set.
func (d *Dict) With(key string, v Value) *Dict { return d.copy().Set(key, v) }

// SetFrom sets a key that came from origin, replacing an equal key.
func (d *Dict) SetFrom(key string, origin Origin, v Value) {
	k := TextFrom(key, origin)
	d.set(hashKey{kind: 's', str: k.s}, k, v)
}

// Get returns the value of a string key.
func (d *Dict) Get(key string) (Value, bool) {
	return d.get(hashKey{kind: 's', str: key})
}

func (d *Dict) find(h hashKey) int {
	if d.index != nil {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	return slices.Index(d.hash, h)
}

func (d *Dict) get(h hashKey) (Value, bool) {
	if i := d.find(h); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

func (d *Dict) set(h hashKey, key, v Value) {
	if i := d.find(h); i >= 0 {
		d.vals[i] = v
		return
	}
	d.keys = append(d.keys, key)
	d.hash = append(d.hash, h)
	d.vals = append(d.vals, v)
	switch {
	case d.index != nil:
		d.index[h] = len(d.keys) - 1
	case len(d.keys) > smallDict:
		d.index = make(map[hashKey]int, 2*len(d.keys))
		for i, h := range d.hash {
			d.index[h] = i
		}
	}
}

// put sets any key; unhashable keys are a TypeError.
func (d *Dict) put(key, v Value) {
	d.set(hashOf(key), key, v)
}

// lookup gets by any key; unhashable keys are a TypeError.
func (d *Dict) lookup(key Value) (Value, bool) {
	return d.get(hashOf(key))
}

func (d *Dict) copy() *Dict {
	out := NewDict()
	for i, k := range d.keys {
		out.set(d.hash[i], k, d.vals[i])
	}
	return out
}

// hashOf returns the hashKey of v.
func hashOf(v Value) hashKey {
	switch v := v.(type) {
	case Str:
		return hashKey{kind: 's', str: v.s}
	case Bool:
		if v {
			return hashKey{kind: 'i', num: 1}
		}
		return hashKey{kind: 'i'}
	case Int:
		return hashKey{kind: 'i', num: int64(v)}
	case bigInt:
		return hashKey{kind: 'b', str: v.n.String()}
	case Float:
		f := float64(v)
		if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return hashKey{kind: 'i', num: int64(f)}
		}
		return hashKey{kind: 'f', num: int64(math.Float64bits(f))}
	case NoneType:
		return hashKey{kind: 'n'}
	case undefined:
		return hashKey{kind: 'u'}
	case rangeValue:
		return hashKey{kind: 'r', str: strconv.FormatInt(v.start, 10) + "," + strconv.FormatInt(v.n, 10) + "," + strconv.FormatInt(v.step, 10)}
	case tuple:
		var b strings.Builder
		hashTuple(&b, v, 0)
		return hashKey{kind: 't', str: b.String()}
	case *List, *Dict, *dictView:
		panic(typeErrorf("unhashable type: '%s'", v.typeName()))
	}
	return hashKey{kind: 'p', ptr: v}
}

// maxTupleKey bounds the spelling of a tuple used as a key, whose parts may be
// shared and so take exponential time to walk.
const maxTupleKey = 1 << 16

// hashTuple writes an unambiguous spelling of t.
func hashTuple(b *strings.Builder, t tuple, depth int) {
	if depth > maxValueDepth || b.Len() > maxTupleKey {
		panic(limitf("a tuple is too large to be a key"))
	}
	for _, v := range t.items {
		if inner, ok := v.(tuple); ok {
			b.WriteString("t(")
			hashTuple(b, inner, depth+1)
			b.WriteByte(')')
			continue
		}
		h := hashOf(v)
		if h.ptr != nil {
			panic(typeErrorf("a '%s' inside a tuple cannot be a key", v.typeName()))
		}
		b.WriteByte(h.kind)
		b.WriteString(strconv.FormatInt(h.num, 10))
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(len(h.str)))
		b.WriteByte(':')
		b.WriteString(h.str)
	}
}

// A dictView is what keys, values and items return.
type dictView struct {
	d    *Dict
	kind string // "keys", "values" or "items"
}

func (v *dictView) typeName() string { return "dict_" + v.kind }
func (v *dictView) length() int      { return len(v.d.keys) }
func (v *dictView) iter() iterator   { return iterItems(v.items()) }

func (v *dictView) items() []Value {
	switch v.kind {
	case "keys":
		return v.d.keys
	case "values":
		return v.d.vals
	}
	items := make([]Value, len(v.d.keys))
	for i := range items {
		items[i] = tuple{items: []Value{v.d.keys[i], v.d.vals[i]}}
	}
	return items
}
