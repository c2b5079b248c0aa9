package jinja

import (
	"cmp"
	"math"
	"math/big"
)

func filterAbs(_ *run, v Value, _ []Value) Value {
	if !isNumber(v) {
		panic(typeErrorf("bad operand type for abs(): '%s'", v.typeName()))
	}
	return absolute(v)
}

// toFloat is Python's float.
func (r *run) toFloat(v Value) float64 {
	switch v := v.(type) {
	case Str:
		return parseFloat(v.s)
	case undefined:
		panic(v.err())
	}
	if !isNumber(v) {
		panic(typeErrorf("float() argument must be a string or a real number, not '%s'", v.typeName()))
	}
	return floatOf(v)
}

func filterFloat(r *run, v Value, a []Value) Value {
	return convert(a[0], Float(0), func() Value { return Float(r.toFloat(v)) })
}

func filterInt(r *run, v Value, a []Value) Value {
	base := intArg(a[1], 10)
	return convert(a[0], Int(0),
		func() Value { return toInt(v, base) },
		func() Value { return truncate(r.toFloat(v)) }) // so that "42.23" gives 42
}

// convert is the first conversion that does not throw, else the default given
// or, where that is missing, zero.
func convert(def, zero Value, ways ...func() Value) Value {
	for _, way := range ways {
		if v, ok := attempt(way, "TypeError", "ValueError"); ok {
			return v
		}
	}
	return cmp.Or(def, zero)
}

// toInt is Python's int.
func toInt(v Value, base int) Value {
	switch v := v.(type) {
	case Str:
		return parseInt(v.s, base)
	case Float:
		return truncate(float64(v))
	case undefined:
		panic(v.err())
	}
	if !isInt(v) {
		panic(typeErrorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", v.typeName()))
	}
	return fromBig(bigOf(v))
}

func filterRound(_ *run, v Value, a []Value) Value {
	places := intArg(a[0], 0)
	method := "common"
	if a[1] != nil {
		s, _ := a[1].(Str)
		method = s.s
	}
	switch method {
	case "common", "ceil", "floor":
	default:
		panic(raisef("FilterArgumentError", "method must be common, ceil or floor"))
	}
	if !isNumber(v) {
		panic(typeErrorf("type %s doesn't define __round__ method", v.typeName()))
	}
	if method == "common" {
		return round(v, int64(places))
	}
	scale := arith("**", Int(10), Int(places))
	scaled := arith("*", v, scale)
	if f, ok := scaled.(Float); ok {
		whole := math.Floor(float64(f))
		if method == "ceil" {
			whole = math.Ceil(float64(f))
		}
		scaled = truncate(whole)
	}
	return arith("/", scaled, scale)
}

// numberAttr returns what Python's numbers have as attributes.
func numberAttr(v Value, name string) (Value, bool) {
	none := func(f func() Value) (Value, bool) {
		return &function{name, func(_ *run, a args) Value {
			a.bind(name, 0)
			return f()
		}}, true
	}
	f, isFloat := v.(Float)
	switch {
	case name == "real":
		if isFloat {
			return v, true
		}
		return fromBig(bigOf(v)), true
	case name == "imag" && isFloat:
		return Float(0), true
	case name == "imag":
		return Int(0), true
	case name == "conjugate":
		return none(func() Value { return v })
	case name == "is_integer":
		return none(func() Value {
			return Bool(!isFloat || float64(f) == math.Trunc(float64(f)) && !math.IsInf(float64(f), 0))
		})
	case name == "bit_length" && !isFloat:
		return none(func() Value { return Int(new(big.Int).Abs(bigOf(v)).BitLen()) })
	}
	return nil, false
}
