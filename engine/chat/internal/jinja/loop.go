package jinja

// A loop is the special variable of a for statement.
type loop struct {
	stmt   *forStmt
	sc     *scope // around the statement
	source Value
	next   iterator
	depth0 int

	index0        int // -1 before the first
	current, prev Value
	after         Value // peeked, nil if not
	ended         bool  // peeked past the end
	size          int   // -1 while unknown
	changed       []Value
	r             *run
}

func (*loop) typeName() string { return "LoopContext" }

func (s *forStmt) exec(r *run, sc *scope) (flow, error) {
	v, err := r.eval(s.iter, sc)
	if err != nil {
		return 0, err
	}
	return s.run(r, sc, v, 0)
}

// run runs the loop over v. A jump in its else belongs to the loop around it.
func (s *forStmt) run(r *run, sc *scope, v Value, depth0 int) (flow, error) {
	l := &loop{stmt: s, sc: sc, source: v, depth0: depth0, index0: -1, size: -1, r: r}
	var err error
	if l.next, err = iterate(v); err != nil {
		return 0, err
	}
	if s.test != nil {
		l.source = None // its length is not that of the loop
		l.next = s.where(r, sc, l.next)
	}
	finished := false // some pass reached the end of the body
	for {
		ok, err := l.advance()
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		body := &scope{parent: sc, names: []string{"loop"}, vals: []Value{l}}
		if err := r.assign(s.target, l.current, sc, body); err != nil {
			return 0, err
		}
		f, err := r.exec(s.body, body)
		if err != nil {
			return 0, err
		}
		if f == flowBreak {
			break
		}
		finished = finished || f == flowNext
	}
	// Jinja runs else also when every pass was cut short.
	if !finished {
		return r.exec(s.els, &scope{parent: sc})
	}
	return flowNext, nil
}

// where yields the elements that pass the loop's if.
func (s *forStmt) where(r *run, sc *scope, next iterator) iterator {
	return func() (Value, bool, error) {
		for {
			v, ok, err := next()
			if err != nil || !ok {
				return nil, false, err
			}
			inner := &scope{parent: sc}
			if err := r.assign(s.target, v, sc, inner); err != nil {
				return nil, false, err
			}
			pass, err := r.evalTest(s.test, inner)
			if err != nil {
				return nil, false, err
			}
			if pass {
				return v, true, nil
			}
		}
	}
}

// advance moves to the next element.
func (l *loop) advance() (bool, error) {
	if _, ok, err := l.peek(); err != nil || !ok {
		return false, err
	}
	l.index0++
	l.prev, l.current, l.after = l.current, l.after, nil
	return true, l.r.charge(valueSize)
}

// peek returns the next element without moving to it.
func (l *loop) peek() (Value, bool, error) {
	if l.after != nil {
		return l.after, true, nil
	}
	if l.ended {
		return nil, false, nil
	}
	v, ok, err := l.next()
	if err != nil || !ok {
		l.ended = err == nil
		return nil, false, err
	}
	l.after = v
	return v, true, nil
}

// length is the number of elements. A generator is run to its end for it.
func (l *loop) length() (int, error) {
	if l.size < 0 {
		if s, ok := l.source.(sized); ok {
			l.size = s.length()
			return l.size, nil
		}
		rest, err := l.r.drain(l.next)
		if err != nil {
			return 0, err
		}
		l.next = iterItems(rest)
		l.size = len(rest) + l.index0 + 1
		if l.after != nil {
			l.size++
		}
	}
	return l.size, nil
}

func (l *loop) attr(r *run, name string) (Value, bool, error) {
	switch name {
	case "index":
		return Int(l.index0 + 1), true, nil
	case "index0":
		return Int(l.index0), true, nil
	case "first":
		return Bool(l.index0 == 0), true, nil
	case "last":
		_, more, err := l.peek()
		return Bool(!more), true, err
	case "length", "revindex", "revindex0":
		n, err := l.length()
		switch name {
		case "revindex":
			n -= l.index0
		case "revindex0":
			n -= l.index0 + 1
		}
		return Int(n), true, err
	case "depth":
		return Int(l.depth0 + 1), true, nil
	case "depth0":
		return Int(l.depth0), true, nil
	case "previtem":
		if l.index0 == 0 {
			return undefined{message: "there is no previous item"}, true, nil
		}
		return l.prev, true, nil
	case "nextitem":
		v, ok, err := l.peek()
		if !ok {
			v = undefined{message: "there is no next item"}
		}
		return v, true, err
	case "cycle":
		return &function{name, l.cycle}, true, nil
	case "changed":
		return &function{name, l.isChanged}, true, nil
	}
	return nil, false, nil
}

func (l *loop) cycle(_ *run, a args) (Value, error) {
	if len(a.pos) == 0 {
		return nil, typeErrorf("no items for cycling given")
	}
	return a.pos[l.index0%len(a.pos)], nil
}

func (l *loop) isChanged(r *run, a args) (Value, error) {
	if l.changed != nil {
		same, err := r.equalItems(l.changed, a.pos, 0)
		if err != nil || same {
			return Bool(false), err
		}
	}
	l.changed = a.pos
	if l.changed == nil {
		l.changed = []Value{}
	}
	return Bool(true), nil
}

// call renders the body again for nested data.
func (l *loop) call(r *run, a args) (Value, error) {
	if !l.stmt.recursive {
		return nil, typeErrorf("The loop must have the 'recursive' marker to be called recursively.")
	}
	v, err := a.bind("loop", 1, "iterable")
	if err != nil {
		return nil, err
	}
	return r.capture(func() error {
		_, err := l.stmt.run(r, l.sc, v[0], l.depth0+1)
		return err
	})
}
