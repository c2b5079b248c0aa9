package grammar

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A lexer is the automaton of all lexemes of one grammar. Its states are made as
// they are needed and stay; reading a transition that exists takes no lock.
type lexer struct {
	lexemes []lexeme
	class   [256]uint8
	reps    []byte // one byte of each class
	dead    *lexState

	mu     sync.Mutex
	exprs  *exprs
	states map[uint64]*lexState // by hash, linked by same
	parts  []part               // of the state that is being made
	plain  map[expr]bool        // whether any plain text begins a string of it
	ends   map[uint64][]*endSet // by hash
	n      int
	limits *Limits
	full   atomic.Bool  // no more states or expressions can be made
	bytes  atomic.Int64 // of both

	startsMu sync.RWMutex
	starts   map[uint64][]*lexState // states in which lexemes begin, by hash of those
}

// A lexeme is a terminal of the grammar.
type lexeme struct {
	expr     expr
	shortest bool
	nullable bool
	follow   byteSet // what may come after it; a lexeme at the end adds nothing
}

// A lexState is a set of lexemes that have begun at the same place and what each
// of them still needs.
type lexState struct {
	next  []atomic.Pointer[lexState] // by class; nil is not known yet
	parts []part                     // ascending by lexeme
	ends  *endSet                    // lexemes that may end here; nil if none
	first bool                       // no byte has been read
	root  atomic.Pointer[memo]       // masks of whole tokens
	same  *lexState                  // next of the same hash
	sole  atomic.Int32               // what only found, plus 3; 0 is not known yet
}

type part struct {
	lexeme int32
	rest   expr
}

// workName is what Limits.Work is called in errors.
const workName = "steps for one token or one mask"

// An endSet is a set of lexemes that may end at the same place.
type endSet struct {
	lexemes []int32 // ascending
	follow  byteSet // what may come after any of them
}

func (s *endSet) has(lexeme int32) bool {
	if len(s.lexemes) == 1 {
		return s.lexemes[0] == lexeme
	}
	_, ok := slices.BinarySearch(s.lexemes, lexeme)
	return ok
}

func newLexer(x *exprs, lexemes []lexeme, limits *Limits) *lexer {
	l := &lexer{exprs: x, lexemes: lexemes, limits: limits, dead: &lexState{},
		plain: map[expr]bool{}, states: map[uint64]*lexState{}, ends: map[uint64][]*endSet{}, starts: map[uint64][]*lexState{}}
	l.classify()
	return l
}

// classify puts two bytes in one class if no set of the expressions tells them
// apart. The sets of all derivatives are unions and intersections of those.
func (l *lexer) classify() {
	var c byteClasses
	for e := range l.exprs.nodes {
		if l.exprs.nodes[e].op != exSet {
			continue
		}
		if !l.exprs.spend(64) {
			break
		}
		set := l.exprs.setOf(expr(e))
		c.split(&set)
	}
	l.class, l.reps = c.of, c.representatives()
}

// byteClasses are bytes that no set told apart so far; the zero value is one class.
type byteClasses struct {
	of   [256]uint8
	more int // classes, without the first
}

// split tells apart the bytes in set from those outside.
func (c *byteClasses) split(set *byteSet) {
	var other [256]uint8 // of a class with members on both sides, the new class; 0 is none
	var in, out [256]bool
	for b := range 256 {
		if set.has(byte(b)) {
			in[c.of[b]] = true
		} else {
			out[c.of[b]] = true
		}
	}
	for k := range c.more + 1 {
		if in[k] && out[k] {
			c.more++
			other[k] = uint8(c.more)
		}
	}
	for b := range 256 {
		if k := other[c.of[b]]; k != 0 && set.has(byte(b)) {
			c.of[b] = k
		}
	}
}

// representatives returns the first byte of each class.
func (c *byteClasses) representatives() []byte {
	reps := make([]byte, c.more+1)
	for b := 255; b >= 0; b-- {
		reps[c.of[b]] = byte(b)
	}
	return reps
}

// step returns the state after b. What it costs is added to work.
func (l *lexer) step(s *lexState, b byte, work *int) (*lexState, error) {
	if t := s.next[l.class[b]].Load(); t != nil {
		return t, nil
	}
	return l.make(s, l.class[b], work)
}

// make fills in a transition. What it costs is added to work, which is bounded.
func (l *lexer) make(s *lexState, class uint8, work *int) (*lexState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := s.next[class].Load(); t != nil {
		return t, nil
	}
	x := l.exprs
	x.budget("steps for one state of the lexer", l.limits.Fuel)
	parts := l.parts[:0]
	for _, p := range s.parts {
		if l.lexemes[p.lexeme].shortest && x.nullable(p.rest) {
			continue
		}
		if d := x.derive(p.rest, l.reps[class], class); x.matchesSome(d, l.reps) {
			parts = append(parts, part{p.lexeme, d})
		}
	}
	l.parts = parts
	if x.full() {
		l.full.Store(true)
	}
	l.bytes.Store(x.size())
	if *work += l.limits.Fuel - x.fuel + len(s.parts); x.err != nil {
		return nil, x.err
	}
	if *work > l.limits.Work {
		return nil, &LimitError{workName, l.limits.Work}
	}
	t, err := l.state(parts, false)
	if err != nil {
		return nil, err
	}
	s.next[class].Store(t)
	return t, nil
}

// begin returns the state in which lexemes, ascending, begin.
func (l *lexer) begin(lexemes []int32) (*lexState, error) {
	if len(lexemes) == 0 {
		return l.dead, nil
	}
	h := hashArgs(0, lexemes)
	l.startsMu.RLock()
	list := l.starts[h]
	l.startsMu.RUnlock()
	for _, s := range list {
		if slices.EqualFunc(s.parts, lexemes, func(p part, x int32) bool { return p.lexeme == x }) {
			return s, nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	parts := make([]part, len(lexemes))
	for i, x := range lexemes {
		parts[i] = part{x, l.lexemes[x].expr}
	}
	s, err := l.state(parts, true)
	if err != nil {
		return nil, err
	}
	l.startsMu.Lock()
	defer l.startsMu.Unlock()
	if !slices.Contains(l.starts[h], s) {
		l.starts[h] = append(l.starts[h], s)
	}
	return s, nil
}

// state returns the state of parts, which it does not keep.
func (l *lexer) state(parts []part, first bool) (*lexState, error) {
	if len(parts) == 0 {
		return l.dead, nil
	}
	h := uint64(1)
	if first {
		h = 2
	}
	for _, p := range parts {
		h = (h ^ uint64(p.lexeme)<<32 ^ uint64(p.rest)) * 0xFF51AFD7ED558CCD
		h ^= h >> 29
	}
	for s := l.states[h]; s != nil; s = s.same {
		if s.first == first && slices.Equal(s.parts, parts) {
			return s, nil
		}
	}
	var err error
	if l.n >= l.limits.States {
		err = &LimitError{"states of the lexer", l.limits.States}
	} else if !l.exprs.take(stateBytes + wordBytes*len(l.reps) + int(unsafe.Sizeof(part{}))*len(parts)) {
		err = l.exprs.noMemory()
	}
	if err != nil {
		l.full.Store(true)
		return nil, err
	}
	l.n++
	s := &lexState{parts: slices.Clone(parts), first: first, same: l.states[h], next: make([]atomic.Pointer[lexState], len(l.reps))}
	var ends []int32
	for _, p := range parts {
		if !first && l.exprs.nullable(p.rest) {
			ends = append(ends, p.lexeme)
		}
	}
	if len(ends) > 0 {
		s.ends = l.endSet(ends)
	}
	l.states[h] = s
	l.bytes.Store(l.exprs.size())
	return s, nil
}

// Bytes of what is kept of a state, apart from its ways on and its parts, and of a word.
const (
	stateBytes = int(unsafe.Sizeof(lexState{})) + mapBytes
	endBytes   = int(unsafe.Sizeof(endSet{})) + mapBytes
	wordBytes  = int(unsafe.Sizeof(uintptr(0)))
)

func (l *lexer) endSet(lexemes []int32) *endSet {
	h := hashArgs(0, lexemes)
	for _, e := range l.ends[h] {
		if slices.Equal(e.lexemes, lexemes) {
			return e
		}
	}
	l.exprs.take(endBytes + 4*len(lexemes)) // if not, the next state fails
	e := &endSet{lexemes: lexemes}
	for _, x := range lexemes {
		e.follow.or(&l.lexemes[x].follow)
	}
	l.ends[h] = append(l.ends[h], e)
	return e
}

// What only returns if it is no byte.
const (
	onlyNone = -1
	onlyMany = -2
)

// only returns the one byte that can come next in s, if there is just one.
func (l *lexer) only(s *lexState, work *int) (int16, error) {
	if s == l.dead {
		return onlyNone, nil
	}
	if v := s.sole.Load(); v != 0 {
		return int16(v - 3), nil
	}
	found := int16(onlyNone)
	for b := range 256 {
		t, err := l.step(s, byte(b), work)
		if err != nil {
			return 0, err
		}
		if t == l.dead {
			continue
		}
		if found != onlyNone {
			found = onlyMany
			break
		}
		found = int16(b)
	}
	s.sole.Store(int32(found) + 3)
	return found, nil
}
