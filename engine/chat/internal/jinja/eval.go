package jinja

// eval evaluates e, counting steps and depth.
func (r *run) eval(e expr, sc *scope) Value {
	r.enter()
	v := e.eval(r, sc)
	r.depth--
	return v
}

func (r *run) evalAll(es []expr, sc *scope) []Value {
	vals := make([]Value, 0, len(es))
	for _, e := range es {
		vals = append(vals, r.eval(e, sc))
	}
	r.charge(valueSize * len(vals))
	return vals
}

// evalTest evaluates e for its truth.
func (r *run) evalTest(e expr, sc *scope) bool {
	v := r.eval(e, sc)
	if l, ok := v.(*loop); ok {
		return l.count() > 0
	}
	return truth(v)
}

func (e *constExpr) eval(*run, *scope) Value { return e.v }

func (e *nameExpr) eval(r *run, sc *scope) Value {
	if v, ok := r.lookup(sc, e.name); ok {
		return v
	}
	return undefinedName(e.name)
}

func (e *listExpr) eval(r *run, sc *scope) Value {
	return &List{r.evalAll(e.items, sc)}
}

func (e *tupleExpr) eval(r *run, sc *scope) Value {
	return tuple{items: r.evalAll(e.items, sc)}
}

func (e *dictExpr) eval(r *run, sc *scope) Value {
	d := NewDict()
	for i := range e.keys {
		k := r.eval(e.keys[i], sc)
		d.put(k, r.eval(e.vals[i], sc))
	}
	r.charge(4 * valueSize * len(e.keys))
	return d
}

func (e *notExpr) eval(r *run, sc *scope) Value {
	return Bool(!r.evalTest(e.x, sc))
}

func (e *andExpr) eval(r *run, sc *scope) Value {
	l := r.eval(e.l, sc)
	if !truth(l) {
		return l
	}
	return r.eval(e.r, sc)
}

func (e *orExpr) eval(r *run, sc *scope) Value {
	l := r.eval(e.l, sc)
	if truth(l) {
		return l
	}
	return r.eval(e.r, sc)
}

func (e *unaryExpr) eval(r *run, sc *scope) Value {
	x := r.eval(e.x, sc)
	defined(x)
	if !isNumber(x) {
		panic(typeErrorf("bad operand type for unary %s: '%s'", e.op, x.typeName()))
	}
	if e.op == "-" {
		return negate(x)
	}
	if n, ok := smallInt(x); ok {
		return Int(n)
	}
	return x
}

func (e *binaryExpr) eval(r *run, sc *scope) Value {
	a := r.eval(e.l, sc)
	return r.binary(e.op, a, r.eval(e.r, sc))
}

// binary is Python's a op b.
func (r *run) binary(op string, a, b Value) Value {
	if isNumber(a) && isNumber(b) {
		return arith(op, a, b)
	}
	if s, ok := a.(Str); ok && op == "%" {
		return r.percent(s, b)
	}
	defined(a)
	defined(b)
	switch op {
	case "+":
		if x, ok := a.(Str); ok {
			if y, ok := b.(Str); ok {
				r.charge(len(x.s) + len(y.s) + 24*(len(x.marks)+len(y.marks)))
				return concat(x, y)
			}
			panic(typeErrorf("can only concatenate str (not \"%s\") to str", b.typeName()))
		}
		if x, y, ok := itemPair(a, b); ok {
			r.chargeTimes(len(x)+len(y), valueSize)
			items := append(append(make([]Value, 0, len(x)+len(y)), x...), y...)
			if _, ok := a.(tuple); ok {
				return tuple{items: items}
			}
			return &List{items}
		}
		switch a.(type) {
		case *List, tuple:
			panic(typeErrorf("can only concatenate %s (not \"%s\") to %s", a.typeName(), b.typeName(), a.typeName()))
		}
	case "*":
		if isInt(a) {
			a, b = b, a
		}
		if isInt(b) {
			if v, ok := r.repeat(a, b); ok {
				return v
			}
		}
	}
	if op == "**" {
		op = "** or pow()"
	}
	panic(typeErrorf("unsupported operand type(s) for %s: '%s' and '%s'", op, a.typeName(), b.typeName()))
}

// repeat is a * n for strings and sequences.
func (r *run) repeat(a, times Value) (v Value, ok bool) {
	n, small := smallInt(times)
	switch a.(type) {
	case Str, *List, tuple:
		if !small {
			panic(limitf("a sequence is repeated too often"))
		}
	default:
		return nil, false
	}
	n = min(max(n, 0), 1<<40)
	switch a := a.(type) {
	case Str:
		if a.s == "" {
			return a, true
		}
		r.chargeTimes(int(n), len(a.s)+24*len(a.marks))
		var b builder
		b.repeat(a, int(n))
		s := b.str()
		s.markup = a.markup
		return s, true
	case *List:
		items := r.repeatItems(a.items, int(n))
		return &List{items}, true
	case tuple:
		items := r.repeatItems(a.items, int(n))
		return tuple{items: items}, true
	}
	return nil, false
}

func (r *run) repeatItems(items []Value, n int) []Value {
	if len(items) == 0 {
		return nil
	}
	r.chargeTimes(n, valueSize*len(items))
	out := make([]Value, 0, n*len(items))
	for range n {
		out = append(out, items...)
	}
	return out
}

func (e *concatExpr) eval(r *run, sc *scope) Value {
	var few [8]Str
	parts, size, marks := few[:0], 0, 0
	for _, part := range e.parts {
		s := r.str(r.eval(part, sc))
		parts, size, marks = append(parts, s), size+len(s.s), marks+len(s.marks)
	}
	var b builder
	b.grow(size, marks)
	for _, s := range parts {
		b.add(s)
	}
	r.charge(b.size())
	return b.str()
}

func (e *compareExpr) eval(r *run, sc *scope) Value {
	l := r.eval(e.first, sc)
	for i, op := range e.ops {
		right := r.eval(e.rest[i], sc)
		if !r.compare(op, l, right) {
			return Bool(false)
		}
		l = right
	}
	return Bool(true)
}

func (r *run) compare(op string, a, b Value) bool {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		return !r.equal(a, b)
	case "in":
		return r.contains(a, b)
	case "not in":
		return !r.contains(a, b)
	}
	return r.order(op, a, b)
}

func (e *condExpr) eval(r *run, sc *scope) Value {
	switch {
	case r.evalTest(e.test, sc):
		return r.eval(e.then, sc)
	case e.els != nil:
		return r.eval(e.els, sc)
	}
	return undefined{message: "the inline if-expression evaluated to false and no else section was defined."}
}

func (e *attrExpr) eval(r *run, sc *scope) Value {
	return r.attr(r.eval(e.x, sc), e.name)
}

func (e *itemExpr) eval(r *run, sc *scope) Value {
	x := r.eval(e.x, sc)
	return r.item(x, r.eval(e.key, sc))
}

func (e *sliceExpr) eval(r *run, sc *scope) Value {
	x := r.eval(e.x, sc)
	var bounds [3]Value
	for i, b := range []expr{e.from, e.to, e.step} {
		bounds[i] = None
		if b != nil {
			bounds[i] = r.eval(b, sc)
		}
	}
	return r.slice(x, bounds[0], bounds[1], bounds[2])
}

func (e *callExpr) eval(r *run, sc *scope) Value { return e.call(r, sc, nil) }

// call calls with an extra caller argument unless it is nil.
func (e *callExpr) call(r *run, sc *scope, caller *macro) Value {
	fn := r.eval(e.fn, sc)
	a := r.evalArgs(&e.args, sc)
	if caller != nil {
		a.names = append(a.names, "caller")
		a.named = append(a.named, caller)
	}
	return r.call(fn, a)
}

func (e *filterExpr) eval(r *run, sc *scope) Value {
	var x Value
	if e.x == nil {
		x, _ = r.lookup(sc, captured)
	} else {
		x = r.eval(e.x, sc)
	}
	return r.filter(e.name, x, r.evalArgs(&e.args, sc))
}

func (e *testExpr) eval(r *run, sc *scope) Value {
	x := r.eval(e.x, sc)
	return Bool(r.test(e.name, x, r.evalArgs(&e.args, sc)))
}
