package jinja

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Default limits of one rendering, and the fixed bound on nested evaluation.
// The largest prompts seen, a megabyte of messages, need about a hundredth.
const (
	defaultSteps  = 10_000_000
	defaultOutput = 32 << 20
	defaultMemory = 256 << 20
	maxDepth      = 2500 // nested evaluations; about 400 nested macro calls
	valueSize     = 32   // what one list element counts as
)

// Options are the surroundings of one rendering. The zero value works.
type Options struct {
	Now       func() time.Time // for strftime_now; nil is time.Now
	MaxSteps  int              // expressions and statements run; 0 is 10 million
	MaxOutput int              // bytes printed, or in one string; 0 is 32 MiB
	MaxMemory int              // bytes of all strings and lists made, kept or not; 0 is 256 MiB
	Check     func() error     // asked every few thousand steps; an error ends the rendering and is returned. nil never ends it
}

// checkEvery is the steps between two questions whether to go on.
const checkEvery = 4096

// A run is one rendering.
type run struct {
	vars      *Dict
	now       func() time.Time
	out       *builder // where output goes now
	steps     int      // left
	due       int      // steps left when check is asked next
	check     func() error
	memory    int // left
	maxOutput int
	depth     int
	line      int // of the statement that runs

	// The tables are reached through the run because their functions use the
	// run's methods, which use the tables.
	filters map[string]filter
	tests   map[string]test
	methods map[string]strMethod
}

// Render renders the template with vars as its variables, which it does not
// change. The error wraps ErrRuntime, as *RaiseError and *RuntimeError do, or
// ErrLimit, or is opt.Check's.
func (t *Template) Render(vars *Dict, opt Options) (out Str, err error) {
	r := &run{
		vars:      vars,
		now:       opt.Now,
		out:       &builder{},
		steps:     cmp.Or(opt.MaxSteps, defaultSteps),
		memory:    cmp.Or(opt.MaxMemory, defaultMemory),
		maxOutput: cmp.Or(opt.MaxOutput, defaultOutput),
		filters:   filters,
		tests:     tests,
		methods:   strMethods,
		check:     opt.Check,
	}
	r.due = r.steps
	if r.now == nil {
		r.now = time.Now
	}
	if r.vars == nil {
		r.vars = NewDict()
	}
	defer func() {
		if e, ok := errors.AsType[*RuntimeError](err); ok && e.Line == 0 {
			e.Line = r.line
		}
	}()
	defer catch(&err)
	r.exec(t.body, &scope{})
	return r.out.str(), nil
}

// charge pays for n bytes about to be made. Copying 256 of them takes about as
// long as a step.
func (r *run) charge(n int) {
	r.steps -= 1 + n>>8
	r.memory -= n
	if r.steps < r.due || r.memory < 0 {
		r.pause()
	}
}

// pause finds out whether to go on.
func (r *run) pause() {
	if r.steps < 0 || r.memory < 0 {
		panic(r.exhausted())
	}
	r.due = max(0, r.steps-checkEvery)
	if r.check == nil {
		return
	}
	if err := r.check(); err != nil {
		panic(thrown{err})
	}
}

func (r *run) exhausted() thrown {
	if r.memory < 0 {
		return limitf("the template makes too much text")
	}
	return limitf("the template takes too many steps")
}

// chargeTimes pays for n copies of size bytes.
func (r *run) chargeTimes(n, size int) {
	if n > 0 && size > 0 && n > (r.memory+size)/size {
		r.memory = -1
		panic(r.exhausted())
	}
	r.charge(max(n, 0) * size)
}

// chargeJoin pays for adding n bytes to b.
func (r *run) chargeJoin(b *builder, n int) {
	if b.len()+n > r.maxOutput {
		panic(limitf("a string has more than %d bytes", r.maxOutput))
	}
	r.charge(n)
}

// enter counts one nested evaluation; the caller decrements depth after it.
func (r *run) enter() {
	if r.depth++; r.depth > maxDepth {
		panic(limitf("the template nests its evaluation too deeply"))
	}
	if r.steps--; r.steps < r.due {
		r.pause()
	}
}

// print writes to the output.
func (r *run) print(s Str) {
	r.out.add(s)
	if r.out.len() > r.maxOutput {
		panic(limitf("the template prints more than %d bytes", r.maxOutput))
	}
	r.charge(len(s.s))
}

// capture runs body and returns what it printed.
func (r *run) capture(body func()) Str {
	outer := r.out
	r.out = &builder{}
	body()
	s := r.out.str()
	r.out = outer
	return s
}

// A scope holds the names set in one block. Scopes are searched outwards, then
// the variables, then the globals.
type scope struct {
	parent *scope
	names  []string
	vals   []Value
}

func (sc *scope) set(name string, v Value) {
	if i := slices.Index(sc.names, name); i >= 0 {
		sc.vals[i] = v
		return
	}
	sc.names = append(sc.names, name)
	sc.vals = append(sc.vals, v)
}

func (r *run) lookup(sc *scope, name string) (Value, bool) {
	for ; sc != nil; sc = sc.parent {
		if i := slices.Index(sc.names, name); i >= 0 {
			return sc.vals[i], true
		}
	}
	if v, ok := r.vars.Get(name); ok {
		return v, true
	}
	return global(name)
}
