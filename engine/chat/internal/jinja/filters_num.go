package jinja

import (
	"math"
	"math/big"
)

func filterAbs(_ *run, v Value, _ []Value) (Value, error) {
	if u, ok := v.(undefined); ok {
		return nil, typeErrorf("bad operand type for abs(): '%s'", u.typeName())
	}
	if !isNumber(v) {
		return nil, typeErrorf("bad operand type for abs(): '%s'", v.typeName())
	}
	return absolute(v)
}

// toFloat is Python's float.
func (r *run) toFloat(v Value) (float64, error) {
	switch v := v.(type) {
	case Str:
		return parseFloat(v.s)
	case undefined:
		return 0, v.err()
	}
	if !isNumber(v) {
		return 0, typeErrorf("float() argument must be a string or a real number, not '%s'", v.typeName())
	}
	return floatOf(v)
}

func filterFloat(r *run, v Value, a []Value) (Value, error) {
	f, err := r.toFloat(v)
	if isKind(err, "TypeError", "ValueError") {
		if a[0] == nil {
			return Float(0), nil
		}
		return a[0], nil
	}
	return Float(f), err
}

func filterInt(r *run, v Value, a []Value) (Value, error) {
	base, err := intArg(a[1], 10)
	if err != nil {
		return nil, err
	}
	n, err := toInt(v, base)
	if !isKind(err, "TypeError", "ValueError") {
		return n, err
	}
	f, err := r.toFloat(v) // so that "42.23" gives 42
	if err == nil {
		n, err = truncate(f)
	}
	if isKind(err, "TypeError", "ValueError") {
		if a[0] == nil {
			return Int(0), nil
		}
		return a[0], nil
	}
	return n, err
}

// toInt is Python's int.
func toInt(v Value, base int) (Value, error) {
	switch v := v.(type) {
	case Str:
		return parseInt(v.s, base)
	case Float:
		return truncate(float64(v))
	case undefined:
		return nil, v.err()
	}
	if !isInt(v) {
		return nil, typeErrorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", v.typeName())
	}
	return fromBig(bigOf(v))
}

func filterRound(_ *run, v Value, a []Value) (Value, error) {
	places, err := intArg(a[0], 0)
	if err != nil {
		return nil, err
	}
	method := "common"
	if a[1] != nil {
		s, _ := a[1].(Str)
		method = s.s
	}
	switch method {
	case "common", "ceil", "floor":
	default:
		return nil, raisef("FilterArgumentError", "method must be common, ceil or floor")
	}
	if u, ok := v.(undefined); ok {
		return nil, typeErrorf("type %s doesn't define __round__ method", u.typeName())
	}
	if !isNumber(v) {
		return nil, typeErrorf("type %s doesn't define __round__ method", v.typeName())
	}
	if method == "common" {
		return round(v, int64(places))
	}
	scale, err := arith("**", Int(10), Int(places))
	if err != nil {
		return nil, err
	}
	scaled, err := arith("*", v, scale)
	if err != nil {
		return nil, err
	}
	if f, ok := scaled.(Float); ok {
		whole := math.Floor(float64(f))
		if method == "ceil" {
			whole = math.Ceil(float64(f))
		}
		if scaled, err = truncate(whole); err != nil {
			return nil, err
		}
	}
	return arith("/", scaled, scale)
}

// numberAttr returns what Python's numbers have as attributes.
func numberAttr(v Value, name string) (Value, bool) {
	none := func(f func() (Value, error)) (Value, bool) {
		return &function{name, func(_ *run, a args) (Value, error) {
			if _, err := a.bind(name, 0); err != nil {
				return nil, err
			}
			return f()
		}}, true
	}
	f, isFloat := v.(Float)
	switch {
	case name == "real":
		if isFloat {
			return v, true
		}
		n, err := fromBig(bigOf(v))
		return n, err == nil
	case name == "imag" && isFloat:
		return Float(0), true
	case name == "imag":
		return Int(0), true
	case name == "conjugate":
		return none(func() (Value, error) { return v, nil })
	case name == "is_integer":
		return none(func() (Value, error) {
			return Bool(!isFloat || float64(f) == math.Trunc(float64(f)) && !math.IsInf(float64(f), 0)), nil
		})
	case name == "bit_length" && !isFloat:
		return none(func() (Value, error) { return Int(new(big.Int).Abs(bigOf(v)).BitLen()), nil })
	}
	return nil, false
}
