package jinja

// maxRange is the longest range the sandbox allows.
const maxRange = 100_000

// global returns the engine's own names.
func global(name string) (Value, bool) {
	var fn func(*run, args) Value
	switch name {
	case "range":
		fn = makeRange
	case "dict":
		fn = func(r *run, a args) Value { return r.makeDict("dict", a) }
	case "namespace":
		fn = makeNamespace
	case "cycler":
		fn = makeCycler
	case "joiner":
		fn = makeJoiner
	case "raise_exception":
		fn = raiseException
	case "strftime_now":
		fn = strftimeNow
	default:
		return nil, false
	}
	return &function{name, fn}, true
}

func makeRange(_ *run, a args) Value {
	if len(a.names) > 0 {
		panic(typeErrorf("range() takes no keyword arguments"))
	}
	if len(a.pos) == 0 || len(a.pos) > 3 {
		panic(typeErrorf("range expected 1 to 3 arguments, got %d", len(a.pos)))
	}
	n := [3]int64{0, 0, 1}
	for i, v := range a.pos {
		x := index(v)
		if len(a.pos) == 1 {
			i = 1
		}
		n[i] = int64(x)
	}
	start, stop, step := n[0], n[1], n[2]
	if step == 0 {
		panic(valueErrorf("range() arg 3 must not be zero"))
	}
	const far = 1 << 60
	if max(start, stop, step) > far || min(start, stop, step) < -far {
		panic(limitf("range bounds are too large"))
	}
	count := int64(0)
	switch {
	case step > 0 && stop > start:
		count = (stop-start-1)/step + 1
	case step < 0 && stop < start:
		count = (start-stop-1)/-step + 1
	}
	if count > maxRange {
		panic(limitf("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange))
	}
	return rangeValue{start, count, step}
}

// makeDict is Python's dict: from a mapping or pairs, then keywords.
func (r *run) makeDict(fn string, a args) Value {
	if len(a.pos) > 1 {
		panic(typeErrorf("%s expected at most 1 argument, got %d", fn, len(a.pos)))
	}
	d := NewDict()
	if len(a.pos) == 1 {
		if from, ok := a.pos[0].(*Dict); ok {
			d = from.copy()
		} else {
			pairs := r.collect(a.pos[0])
			for i, p := range pairs {
				kv, ok := attempt(func() []Value { return r.collect(p) }, "TypeError")
				if !ok {
					panic(typeErrorf("cannot convert dictionary update sequence element #%d to a sequence", i))
				}
				if len(kv) != 2 {
					panic(valueErrorf("dictionary update sequence element #%d has length %d; 2 is required", i, len(kv)))
				}
				d.put(kv[0], kv[1])
			}
		}
	}
	a.setNamed(d)
	r.charge(4 * valueSize * len(d.keys))
	return d
}

// A namespace holds attributes that set can change from inside a loop.
type namespace struct{ vars *Dict }

func (*namespace) typeName() string { return "utils.Namespace" }

func makeNamespace(r *run, a args) Value {
	return &namespace{r.makeDict("namespace", a).(*Dict)}
}

// A cycler hands out its items in turn.
type cycler struct {
	items []Value
	pos   int
}

func (*cycler) typeName() string { return "utils.Cycler" }

func makeCycler(_ *run, a args) Value {
	if len(a.names) > 0 {
		panic(typeErrorf("cycler() takes no keyword arguments"))
	}
	if len(a.pos) == 0 {
		panic(raisef("RuntimeError", "at least one item has to be provided"))
	}
	return &cycler{items: a.pos}
}

func (c *cycler) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "next":
		return &function{name, func(*run, args) Value {
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v
		}}, true
	case "reset":
		return &function{name, func(*run, args) Value {
			c.pos = 0
			return None
		}}, true
	}
	return nil, false
}

// A joiner returns nothing the first time it is called, then its separator.
type joiner struct {
	sep  Value
	used bool
}

func (*joiner) typeName() string { return "utils.Joiner" }

func makeJoiner(_ *run, a args) Value {
	v := a.bind("joiner", 0, "sep")
	if v[0] == nil {
		v[0] = Text(", ")
	}
	return &joiner{sep: v[0]}
}

func (j *joiner) call(*run, args) Value {
	if !j.used {
		j.used = true
		return Text("")
	}
	return j.sep
}

func raiseException(r *run, a args) Value {
	panic(thrown{&RaiseError{r.str(a.bind("raise_exception", 1, "message")[0]).s}})
}

func strftimeNow(r *run, a args) Value {
	v := a.bind("strftime_now", 1, "format")
	f, ok := v[0].(Str)
	if !ok {
		panic(typeErrorf("strftime() argument 1 must be str, not %s", v[0].typeName()))
	}
	text := strftime(r.now(), f.s)
	r.charge(len(text))
	return f.rewritten(text)
}
