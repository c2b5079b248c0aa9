package jinja

import "slices"

// args are the arguments of one call.
type args struct {
	pos     []Value
	names   []string
	named   []Value
	outside bool // some names came from outside, through **
}

// setNamed sets the keyword arguments in d.
func (a args) setNamed(d *Dict) {
	for i, n := range a.names {
		a.setName(d, n, a.named[i])
	}
}

func (a args) setName(d *Dict, name string, v Value) {
	if a.outside {
		d.SetFrom(name, Outside, v)
	} else {
		d.Set(name, v)
	}
}

// A callable is a value that can be called.
type callable interface {
	Value
	call(r *run, a args) Value
}

// A function is a callable the engine provides: a global or a bound method.
type function struct {
	name string
	fn   func(r *run, a args) Value
}

func (*function) typeName() string            { return "builtin_function_or_method" }
func (f *function) call(r *run, a args) Value { return f.fn(r, a) }

func (r *run) call(fn Value, a args) Value {
	switch f := fn.(type) {
	case undefined:
		panic(f.err())
	case callable:
		r.enter()
		v := f.call(r, a)
		r.depth--
		return v
	}
	panic(typeErrorf("'%s' object is not callable", fn.typeName()))
}

func (r *run) evalArgs(c *callArgs, sc *scope) args {
	var a args
	if len(c.pos) == 0 && len(c.named) == 0 && c.star == nil && c.stars == nil {
		return a
	}
	a.pos = r.evalAll(c.pos, sc)
	if c.star != nil {
		a.pos = append(a.pos, r.collect(r.eval(c.star, sc))...)
	}
	a.names = append(a.names, c.names...)
	if a.named = r.evalAll(c.named, sc); c.stars == nil {
		return a
	}
	v := r.eval(c.stars, sc)
	d, ok := v.(*Dict)
	if !ok {
		panic(typeErrorf("argument after ** must be a mapping, not %s", v.typeName()))
	}
	for i, k := range d.keys {
		name, ok := k.(Str)
		if !ok {
			panic(typeErrorf("keywords must be strings"))
		}
		if _, dup := a.keyword(name.s); dup {
			panic(typeErrorf("got multiple values for keyword argument '%s'", name.s))
		}
		a.names = append(a.names, name.s)
		a.named = append(a.named, d.vals[i])
		a.outside = a.outside || len(name.marks) > 0
	}
	r.charge(valueSize * len(d.keys))
	return a
}

func (a args) keyword(name string) (Value, bool) {
	if i := slices.Index(a.names, name); i >= 0 {
		return a.named[i], true
	}
	return nil, false
}

// bind matches arguments to parameters as Python does. The first required ones
// must be given; others are nil when they are not.
func (a args) bind(fn string, required int, params ...string) []Value {
	if len(a.pos) > len(params) {
		panic(typeErrorf("%s() takes at most %d arguments (%d given)", fn, len(params), len(a.pos)))
	}
	vals := make([]Value, len(params))
	copy(vals, a.pos)
	for i, name := range a.names {
		j := slices.Index(params, name)
		if j < 0 {
			panic(typeErrorf("%s() got an unexpected keyword argument '%s'", fn, name))
		}
		if vals[j] != nil {
			panic(typeErrorf("%s() got multiple values for argument '%s'", fn, name))
		}
		vals[j] = a.named[i]
	}
	for i := range required {
		if vals[i] == nil {
			panic(typeErrorf("%s() missing required argument: '%s'", fn, params[i]))
		}
	}
	return vals
}

// isNone reports whether an optional argument is missing or None.
func isNone(v Value) bool {
	_, none := v.(NoneType)
	return v == nil || none
}

// index is Python's conversion of an argument to a C-sized integer.
func index(v Value) int {
	n, ok := smallInt(v)
	if !ok {
		if u, isUndefined := v.(undefined); isUndefined {
			panic(u.err())
		}
		if isInt(v) {
			panic(raisef("OverflowError", "Python int too large to convert to C ssize_t"))
		}
		panic(typeErrorf("'%s' object cannot be interpreted as an integer", v.typeName()))
	}
	return int(n)
}

// A macro is a macro, or the caller a call block passes.
type macro struct {
	def *macroDef
	sc  *scope // where it was defined
}

func (*macro) typeName() string { return "Macro" }

func (m *macro) attr(name string) (Value, bool) {
	switch name {
	case "name":
		return Text(m.def.name), true
	case "arguments":
		t := tuple{}
		for _, p := range m.def.params {
			t.items = append(t.items, Text(p))
		}
		return t, true
	case "catch_kwargs":
		return Bool(m.def.kwargs), true
	case "catch_varargs":
		return Bool(m.def.varargs), true
	case "caller":
		return Bool(m.def.caller), true
	}
	return nil, false
}

// call runs the macro's body in a new scope inside the one it was defined in.
func (m *macro) call(r *run, a args) Value {
	d := m.def
	sc := &scope{parent: m.sc}
	used := make([]bool, len(a.names))
	take := func(name string) (Value, bool) {
		for i, n := range a.names {
			if n == name && !used[i] {
				used[i] = true
				return a.named[i], true
			}
		}
		return nil, false
	}
	missing := make([]bool, len(d.params))
	for i, p := range d.params {
		v, ok := Value(nil), i < len(a.pos)
		if ok {
			v = a.pos[i]
		} else {
			v, ok = take(p)
		}
		if !ok {
			missing[i] = true
			v = undefined{message: "parameter '" + p + "' was not provided"}
		}
		sc.set(p, v)
	}
	if d.caller && !d.param("caller") {
		v, ok := take("caller")
		if !ok || isNone(v) {
			v = undefined{message: "No caller defined"}
		}
		sc.set("caller", v)
	}
	m.rest(r, a, used, sc)
	for i, p := range d.params {
		k := i - (len(d.params) - len(d.defaults))
		if missing[i] && k >= 0 {
			sc.set(p, r.eval(d.defaults[k], sc))
		}
	}
	return r.capture(func() {
		r.exec(d.body, sc)
	})
}

// rest deals with the arguments no parameter took.
func (m *macro) rest(r *run, a args, used []bool, sc *scope) {
	d := m.def
	kwargs := NewDict()
	for i, n := range a.names {
		if used[i] {
			continue
		}
		if !d.kwargs {
			if n == "caller" {
				panic(typeErrorf("macro %s was invoked with two values for the special caller argument. This is most likely a bug.", quote(d.name)))
			}
			panic(typeErrorf("macro %s takes no keyword argument %s", quote(d.name), quote(n)))
		}
		a.setName(kwargs, n, a.named[i])
	}
	if d.kwargs {
		sc.set("kwargs", kwargs)
	}
	var more []Value
	if len(a.pos) > len(d.params) {
		more = a.pos[len(d.params):]
		if !d.varargs {
			panic(typeErrorf("macro %s takes not more than %d argument(s)", quote(d.name), len(d.params)))
		}
	}
	if d.varargs {
		sc.set("varargs", tuple{items: more})
	}
	r.charge(valueSize * (len(a.names) + len(more) + 4))
}
