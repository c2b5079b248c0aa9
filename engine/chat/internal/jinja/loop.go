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
	after         Value   // peeked, nil if not
	ended         bool    // peeked past the end
	size          int     // -1 while unknown
	changed       []Value // what changed was asked last
	asked         bool
	r             *run
}

func (*loop) typeName() string { return "LoopContext" }

func (s *forStmt) exec(r *run, sc *scope) flow {
	return s.run(r, sc, r.eval(s.iter, sc), 0)
}

// run runs the loop over v. A jump in its else belongs to the loop around it.
func (s *forStmt) run(r *run, sc *scope, v Value, depth0 int) flow {
	l := &loop{stmt: s, sc: sc, source: v, depth0: depth0, index0: -1, size: -1, r: r}
	l.next = iterate(v)
	if s.test != nil {
		l.source = None // its length is not that of the loop
		l.next = s.where(r, sc, l.next)
	}
	finished := false // some pass reached the end of the body
	for l.advance() {
		body := &scope{parent: sc, names: []string{"loop"}, vals: []Value{l}}
		r.assign(s.target, l.current, sc, body)
		f := r.exec(s.body, body)
		if f == flowBreak {
			break
		}
		finished = finished || f == flowNext
	}
	// Jinja runs else also when every pass was cut short.
	if !finished {
		return r.exec(s.els, &scope{parent: sc})
	}
	return flowNext
}

// where yields the elements that pass the loop's if.
func (s *forStmt) where(r *run, sc *scope, next iterator) iterator {
	return func() (Value, bool) {
		for {
			v, ok := next()
			if !ok {
				return nil, false
			}
			inner := &scope{parent: sc}
			r.assign(s.target, v, sc, inner)
			if r.evalTest(s.test, inner) {
				return v, true
			}
		}
	}
}

// advance moves to the next element.
func (l *loop) advance() bool {
	if _, ok := l.peek(); !ok {
		return false
	}
	l.index0++
	l.prev, l.current, l.after = l.current, l.after, nil
	l.r.charge(valueSize)
	return true
}

// peek returns the next element without moving to it.
func (l *loop) peek() (Value, bool) {
	if l.after != nil {
		return l.after, true
	}
	if l.ended {
		return nil, false
	}
	v, ok := l.next()
	if !ok {
		l.ended = true
		return nil, false
	}
	l.after = v
	return v, true
}

// count is the number of elements. A generator is run to its end for it.
func (l *loop) count() int {
	if l.size < 0 {
		if s, ok := l.source.(sized); ok {
			l.size = s.length()
			return l.size
		}
		rest := l.r.drain(l.next)
		l.next = iterItems(rest)
		l.size = len(rest) + l.index0 + 1
		if l.after != nil {
			l.size++
		}
	}
	return l.size
}

func (l *loop) attr(r *run, name string) (Value, bool) {
	switch name {
	case "index":
		return Int(l.index0 + 1), true
	case "index0":
		return Int(l.index0), true
	case "first":
		return Bool(l.index0 == 0), true
	case "last":
		_, more := l.peek()
		return Bool(!more), true
	case "length", "revindex", "revindex0":
		n := l.count()
		switch name {
		case "revindex":
			n -= l.index0
		case "revindex0":
			n -= l.index0 + 1
		}
		return Int(n), true
	case "depth":
		return Int(l.depth0 + 1), true
	case "depth0":
		return Int(l.depth0), true
	case "previtem":
		if l.index0 == 0 {
			return undefined{message: "there is no previous item"}, true
		}
		return l.prev, true
	case "nextitem":
		v, ok := l.peek()
		if !ok {
			v = undefined{message: "there is no next item"}
		}
		return v, true
	case "cycle":
		return &function{name, l.cycle}, true
	case "changed":
		return &function{name, l.isChanged}, true
	}
	return nil, false
}

func (l *loop) cycle(_ *run, a args) Value {
	if len(a.pos) == 0 {
		panic(typeErrorf("no items for cycling given"))
	}
	return a.pos[l.index0%len(a.pos)]
}

func (l *loop) isChanged(r *run, a args) Value {
	same := l.asked && r.equalItems(l.changed, a.pos, 0)
	l.asked, l.changed = true, a.pos
	return Bool(!same)
}

// call renders the body again for nested data.
func (l *loop) call(r *run, a args) Value {
	if !l.stmt.recursive {
		panic(typeErrorf("The loop must have the 'recursive' marker to be called recursively."))
	}
	v := a.bind("loop", 1, "iterable")
	return r.capture(func() {
		l.stmt.run(r, l.sc, v[0], l.depth0+1)
	})
}
