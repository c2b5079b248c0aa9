package jinja

// eval evaluates e, counting steps and depth.
func (r *run) eval(e expr, sc *scope) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	v, err := e.eval(r, sc)
	r.depth--
	return v, err
}

func (r *run) evalAll(es []expr, sc *scope) ([]Value, error) {
	vals := make([]Value, 0, len(es))
	for _, e := range es {
		v, err := r.eval(e, sc)
		if err != nil {
			return nil, err
		}
		vals = append(vals, v)
	}
	return vals, r.charge(valueSize * len(vals))
}

// evalTest evaluates e for its truth.
func (r *run) evalTest(e expr, sc *scope) (bool, error) {
	v, err := r.eval(e, sc)
	if err != nil {
		return false, err
	}
	if l, ok := v.(*loop); ok {
		n, err := l.length()
		return n > 0, err
	}
	return truth(v), nil
}

func (e *constExpr) eval(*run, *scope) (Value, error) { return e.v, nil }

func (e *nameExpr) eval(r *run, sc *scope) (Value, error) {
	if v, ok := r.lookup(sc, e.name); ok {
		return v, nil
	}
	return undefinedName(e.name), nil
}

func (e *listExpr) eval(r *run, sc *scope) (Value, error) {
	items, err := r.evalAll(e.items, sc)
	return &List{items}, err
}

func (e *tupleExpr) eval(r *run, sc *scope) (Value, error) {
	items, err := r.evalAll(e.items, sc)
	return tuple{items: items}, err
}

func (e *dictExpr) eval(r *run, sc *scope) (Value, error) {
	d := NewDict()
	for i := range e.keys {
		k, err := r.eval(e.keys[i], sc)
		if err != nil {
			return nil, err
		}
		v, err := r.eval(e.vals[i], sc)
		if err != nil {
			return nil, err
		}
		if err := d.put(k, v); err != nil {
			return nil, err
		}
	}
	return d, r.charge(4 * valueSize * len(e.keys))
}

func (e *notExpr) eval(r *run, sc *scope) (Value, error) {
	ok, err := r.evalTest(e.x, sc)
	return Bool(!ok), err
}

func (e *andExpr) eval(r *run, sc *scope) (Value, error) {
	l, err := r.eval(e.l, sc)
	if err != nil || !truth(l) {
		return l, err
	}
	return r.eval(e.r, sc)
}

func (e *orExpr) eval(r *run, sc *scope) (Value, error) {
	l, err := r.eval(e.l, sc)
	if err != nil || truth(l) {
		return l, err
	}
	return r.eval(e.r, sc)
}

func (e *unaryExpr) eval(r *run, sc *scope) (Value, error) {
	x, err := r.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	if u, ok := x.(undefined); ok {
		return nil, u.err()
	}
	if !isNumber(x) {
		return nil, typeErrorf("bad operand type for unary %s: '%s'", e.op, x.typeName())
	}
	if e.op == "-" {
		return negate(x)
	}
	if n, ok := smallInt(x); ok {
		return Int(n), nil
	}
	return x, nil
}

func (e *binaryExpr) eval(r *run, sc *scope) (Value, error) {
	a, err := r.eval(e.l, sc)
	if err != nil {
		return nil, err
	}
	b, err := r.eval(e.r, sc)
	if err != nil {
		return nil, err
	}
	return r.binary(e.op, a, b)
}

// binary is Python's a op b.
func (r *run) binary(op string, a, b Value) (Value, error) {
	if isNumber(a) && isNumber(b) {
		return arith(op, a, b)
	}
	if s, ok := a.(Str); ok && op == "%" {
		return r.percent(s, b)
	}
	for _, v := range []Value{a, b} {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
	}
	switch op {
	case "+":
		if x, ok := a.(Str); ok {
			if y, ok := b.(Str); ok {
				return concat(x, y), r.charge(len(x.s) + len(y.s) + 24*(len(x.marks)+len(y.marks)))
			}
			return nil, typeErrorf("can only concatenate str (not \"%s\") to str", b.typeName())
		}
		if x, y, ok := itemPair(a, b); ok {
			if err := r.chargeTimes(len(x)+len(y), valueSize); err != nil {
				return nil, err
			}
			items := append(append(make([]Value, 0, len(x)+len(y)), x...), y...)
			if _, ok := a.(tuple); ok {
				return tuple{items: items}, nil
			}
			return &List{items}, nil
		}
		switch a.(type) {
		case *List, tuple:
			return nil, typeErrorf("can only concatenate %s (not \"%s\") to %s", a.typeName(), b.typeName(), a.typeName())
		}
	case "*":
		if isInt(a) {
			a, b = b, a
		}
		if isInt(b) {
			if v, ok, err := r.repeat(a, b); ok || err != nil {
				return v, err
			}
		}
	}
	if op == "**" {
		op = "** or pow()"
	}
	return nil, typeErrorf("unsupported operand type(s) for %s: '%s' and '%s'", op, a.typeName(), b.typeName())
}

// repeat is a * n for strings and sequences.
func (r *run) repeat(a, times Value) (v Value, ok bool, err error) {
	n, small := smallInt(times)
	switch a.(type) {
	case Str, *List, tuple:
		if !small {
			return nil, true, limitf("a sequence is repeated too often")
		}
	default:
		return nil, false, nil
	}
	n = min(max(n, 0), 1<<40)
	switch a := a.(type) {
	case Str:
		if a.s == "" {
			return a, true, nil
		}
		if err := r.chargeTimes(int(n), len(a.s)+24*len(a.marks)); err != nil {
			return nil, true, err
		}
		var b builder
		b.repeat(a, int(n))
		s := b.str()
		s.markup = a.markup
		return s, true, nil
	case *List:
		items, err := r.repeatItems(a.items, int(n))
		return &List{items}, true, err
	case tuple:
		items, err := r.repeatItems(a.items, int(n))
		return tuple{items: items}, true, err
	}
	return nil, false, nil
}

func (r *run) repeatItems(items []Value, n int) ([]Value, error) {
	if len(items) == 0 {
		return nil, nil
	}
	if err := r.chargeTimes(n, valueSize*len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n*len(items))
	for range n {
		out = append(out, items...)
	}
	return out, nil
}

func (e *concatExpr) eval(r *run, sc *scope) (Value, error) {
	var b builder
	for _, part := range e.parts {
		v, err := r.eval(part, sc)
		if err != nil {
			return nil, err
		}
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		b.add(s)
	}
	return b.str(), r.charge(b.size())
}

func (e *compareExpr) eval(r *run, sc *scope) (Value, error) {
	l, err := r.eval(e.first, sc)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		right, err := r.eval(e.rest[i], sc)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(op, l, right)
		if err != nil || !ok {
			return Bool(false), err
		}
		l = right
	}
	return Bool(true), nil
}

func (r *run) compare(op string, a, b Value) (bool, error) {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		ok, err := r.equal(a, b)
		return !ok, err
	case "in":
		return r.contains(a, b)
	case "not in":
		ok, err := r.contains(a, b)
		return !ok, err
	}
	return r.order(op, a, b)
}

func (e *condExpr) eval(r *run, sc *scope) (Value, error) {
	ok, err := r.evalTest(e.test, sc)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return r.eval(e.then, sc)
	case e.els != nil:
		return r.eval(e.els, sc)
	}
	return undefined{message: "the inline if-expression evaluated to false and no else section was defined."}, nil
}

func (e *attrExpr) eval(r *run, sc *scope) (Value, error) {
	x, err := r.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	return r.attr(x, e.name)
}

func (e *itemExpr) eval(r *run, sc *scope) (Value, error) {
	x, err := r.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	key, err := r.eval(e.key, sc)
	if err != nil {
		return nil, err
	}
	return r.item(x, key)
}

func (e *sliceExpr) eval(r *run, sc *scope) (Value, error) {
	x, err := r.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i, b := range []expr{e.from, e.to, e.step} {
		bounds[i] = None
		if b != nil {
			if bounds[i], err = r.eval(b, sc); err != nil {
				return nil, err
			}
		}
	}
	return r.slice(x, bounds[0], bounds[1], bounds[2])
}

func (e *callExpr) eval(r *run, sc *scope) (Value, error) { return e.call(r, sc, nil) }

// call calls with an extra caller argument unless it is nil.
func (e *callExpr) call(r *run, sc *scope, caller *macro) (Value, error) {
	fn, err := r.eval(e.fn, sc)
	if err != nil {
		return nil, err
	}
	a, err := r.evalArgs(&e.args, sc)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		a.names = append(a.names, "caller")
		a.named = append(a.named, caller)
	}
	return r.call(fn, a)
}

func (e *filterExpr) eval(r *run, sc *scope) (Value, error) {
	var x Value
	var err error
	if e.x == nil {
		x, _ = r.lookup(sc, captured)
	} else if x, err = r.eval(e.x, sc); err != nil {
		return nil, err
	}
	a, err := r.evalArgs(&e.args, sc)
	if err != nil {
		return nil, err
	}
	return r.filter(e.name, x, a)
}

func (e *testExpr) eval(r *run, sc *scope) (Value, error) {
	x, err := r.eval(e.x, sc)
	if err != nil {
		return nil, err
	}
	a, err := r.evalArgs(&e.args, sc)
	if err != nil {
		return nil, err
	}
	ok, err := r.test(e.name, x, a)
	return Bool(ok), err
}
