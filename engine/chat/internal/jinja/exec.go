package jinja

// captured is the name under which a filter block keeps its text. Templates
// cannot spell it.
const captured = "|"

// exec runs body in sc.
func (r *run) exec(body []stmt, sc *scope) (flow, error) {
	if err := r.enter(); err != nil {
		return 0, err
	}
	for _, s := range body {
		if r.steps--; r.steps < r.due {
			if err := r.pause(); err != nil {
				return 0, err
			}
		}
		f, err := s.exec(r, sc)
		if err != nil {
			return 0, atLine(err, s.at())
		}
		if f != flowNext {
			r.depth--
			return f, nil
		}
	}
	r.depth--
	return flowNext, nil
}

func (s *dataStmt) exec(r *run, _ *scope) (flow, error) {
	return flowNext, r.print(Str{s: s.text})
}

func (s *outputStmt) exec(r *run, sc *scope) (flow, error) {
	for _, e := range s.exprs {
		v, err := r.eval(e, sc)
		if err != nil {
			return 0, err
		}
		text, err := r.str(v)
		if err != nil {
			return 0, err
		}
		if err := r.print(text); err != nil {
			return 0, err
		}
	}
	return flowNext, nil
}

func (s *jumpStmt) exec(*run, *scope) (flow, error) { return s.to, nil }

func (s *setStmt) exec(r *run, sc *scope) (flow, error) {
	v, err := r.eval(s.value, sc)
	if err != nil {
		return 0, err
	}
	return flowNext, r.assign(s.target, v, sc, sc)
}

// assign sets t in the scope to. Namespaces are found from sc.
func (r *run) assign(t target, v Value, sc, to *scope) error {
	switch {
	case t.tuple:
		items, err := r.unpack(v, len(t.items))
		if err != nil {
			return err
		}
		for i, item := range t.items {
			if err := r.assign(item, items[i], sc, to); err != nil {
				return err
			}
		}
	case t.attr != "":
		owner, _ := r.lookup(sc, t.name)
		ns, ok := owner.(*namespace)
		if !ok {
			return raisef("TemplateRuntimeError", "cannot assign attribute on non-namespace object")
		}
		ns.vars.Set(t.attr, v)
	default:
		to.set(t.name, v)
	}
	return nil
}

// unpack returns exactly n values from v.
func (r *run) unpack(v Value, n int) ([]Value, error) {
	next, err := iterate(v)
	if err != nil {
		return nil, typeErrorf("cannot unpack non-iterable %s object", v.typeName())
	}
	var items []Value
	for len(items) <= n {
		item, ok, err := next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		items = append(items, item)
	}
	switch {
	case len(items) > n:
		return nil, valueErrorf("too many values to unpack (expected %d)", n)
	case len(items) < n:
		return nil, valueErrorf("not enough values to unpack (expected %d, got %d)", n, len(items))
	}
	return items, nil
}

// captureBody runs body in a scope of its own and returns what it printed and
// how it ended.
func (r *run) captureBody(body []stmt, sc *scope) (Str, flow, error) {
	var f flow
	s, err := r.capture(func() error {
		var err error
		f, err = r.exec(body, &scope{parent: sc})
		return err
	})
	return s, f, err
}

// filtered passes text through the filters of a filter block or block set.
func (r *run) filtered(filter expr, text Str, sc *scope) (Value, error) {
	if filter == nil {
		return text, nil
	}
	return r.eval(filter, &scope{parent: sc, names: []string{captured}, vals: []Value{text}})
}

func (s *setBlockStmt) exec(r *run, sc *scope) (flow, error) {
	text, f, err := r.captureBody(s.body, sc)
	if err != nil || f != flowNext {
		return f, err
	}
	v, err := r.filtered(s.filter, text, sc)
	if err != nil {
		return 0, err
	}
	return flowNext, r.assign(s.target, v, sc, sc)
}

func (s *filterStmt) exec(r *run, sc *scope) (flow, error) {
	text, f, err := r.captureBody(s.body, sc)
	if err != nil || f != flowNext {
		return f, err
	}
	v, err := r.filtered(s.filter, text, sc)
	if err != nil {
		return 0, err
	}
	out, err := r.str(v)
	if err != nil {
		return 0, err
	}
	return flowNext, r.print(out)
}

func (s *scopeStmt) exec(r *run, sc *scope) (flow, error) {
	return r.exec(s.body, &scope{parent: sc})
}

func (s *ifStmt) exec(r *run, sc *scope) (flow, error) {
	for i, test := range s.tests {
		ok, err := r.evalTest(test, sc)
		if err != nil {
			return 0, err
		}
		if ok {
			return r.exec(s.bodies[i], sc)
		}
	}
	return r.exec(s.els, sc)
}

func (s *withStmt) exec(r *run, sc *scope) (flow, error) {
	inner := &scope{parent: sc}
	for i, t := range s.targets {
		v, err := r.eval(s.values[i], sc)
		if err != nil {
			return 0, err
		}
		if err := r.assign(t, v, sc, inner); err != nil {
			return 0, err
		}
	}
	return r.exec(s.body, inner)
}

func (s *macroStmt) exec(_ *run, sc *scope) (flow, error) {
	sc.set(s.def.name, &macro{s.def, sc})
	return flowNext, nil
}

func (s *callStmt) exec(r *run, sc *scope) (flow, error) {
	v, err := s.call.call(r, sc, &macro{s.def, sc})
	if err != nil {
		return 0, err
	}
	out, err := r.str(v)
	if err != nil {
		return 0, err
	}
	return flowNext, r.print(out)
}
