package jinja

// captured is the name under which a filter block keeps its text. Templates
// cannot spell it.
const captured = "|"

// exec runs body in sc.
func (r *run) exec(body []stmt, sc *scope) flow {
	r.enter()
	outer := r.line
	f := flowNext
	for _, s := range body {
		if r.steps--; r.steps < r.due {
			r.pause()
		}
		r.line = s.at()
		if f = s.exec(r, sc); f != flowNext {
			break
		}
	}
	r.line = outer
	r.depth--
	return f
}

func (s *dataStmt) exec(r *run, _ *scope) flow {
	r.print(Str{s: s.text})
	return flowNext
}

func (s *outputStmt) exec(r *run, sc *scope) flow {
	for _, e := range s.exprs {
		r.print(r.str(r.eval(e, sc)))
	}
	return flowNext
}

func (s *jumpStmt) exec(*run, *scope) flow { return s.to }

func (s *setStmt) exec(r *run, sc *scope) flow {
	r.assign(s.target, r.eval(s.value, sc), sc, sc)
	return flowNext
}

// assign sets t in the scope to. Namespaces are found from sc.
func (r *run) assign(t target, v Value, sc, to *scope) {
	switch {
	case t.tuple:
		items := r.unpack(v, len(t.items))
		for i, item := range t.items {
			r.assign(item, items[i], sc, to)
		}
	case t.attr != "":
		owner, _ := r.lookup(sc, t.name)
		ns, ok := owner.(*namespace)
		if !ok {
			panic(raisef("TemplateRuntimeError", "cannot assign attribute on non-namespace object"))
		}
		ns.vars.Set(t.attr, v)
	default:
		to.set(t.name, v)
	}
}

// unpack returns exactly n values from v.
func (r *run) unpack(v Value, n int) []Value {
	it, ok := v.(iterable)
	if !ok {
		panic(typeErrorf("cannot unpack non-iterable %s object", v.typeName()))
	}
	next := it.iter()
	var items []Value
	for len(items) <= n {
		item, ok := next()
		if !ok {
			break
		}
		items = append(items, item)
	}
	switch {
	case len(items) > n:
		panic(valueErrorf("too many values to unpack (expected %d)", n))
	case len(items) < n:
		panic(valueErrorf("not enough values to unpack (expected %d, got %d)", n, len(items)))
	}
	return items
}

// captureBody runs body in a scope of its own and returns what it printed and
// how it ended.
func (r *run) captureBody(body []stmt, sc *scope) (Str, flow) {
	var f flow
	s := r.capture(func() {
		f = r.exec(body, &scope{parent: sc})
	})
	return s, f
}

// filtered passes text through the filters of a filter block or block set.
func (r *run) filtered(filter expr, text Str, sc *scope) Value {
	if filter == nil {
		return text
	}
	return r.eval(filter, &scope{parent: sc, names: []string{captured}, vals: []Value{text}})
}

func (s *setBlockStmt) exec(r *run, sc *scope) flow {
	text, f := r.captureBody(s.body, sc)
	if f != flowNext {
		return f
	}
	r.assign(s.target, r.filtered(s.filter, text, sc), sc, sc)
	return flowNext
}

func (s *filterStmt) exec(r *run, sc *scope) flow {
	text, f := r.captureBody(s.body, sc)
	if f != flowNext {
		return f
	}
	r.print(r.str(r.filtered(s.filter, text, sc)))
	return flowNext
}

func (s *scopeStmt) exec(r *run, sc *scope) flow {
	return r.exec(s.body, &scope{parent: sc})
}

func (s *ifStmt) exec(r *run, sc *scope) flow {
	for i, test := range s.tests {
		if r.evalTest(test, sc) {
			return r.exec(s.bodies[i], sc)
		}
	}
	return r.exec(s.els, sc)
}

func (s *withStmt) exec(r *run, sc *scope) flow {
	inner := &scope{parent: sc}
	for i, t := range s.targets {
		r.assign(t, r.eval(s.values[i], sc), sc, inner)
	}
	return r.exec(s.body, inner)
}

func (s *macroStmt) exec(_ *run, sc *scope) flow {
	sc.set(s.def.name, &macro{s.def, sc})
	return flowNext
}

func (s *callStmt) exec(r *run, sc *scope) flow {
	r.print(r.str(s.call.call(r, sc, &macro{s.def, sc})))
	return flowNext
}
