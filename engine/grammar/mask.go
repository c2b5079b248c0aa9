package grammar

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A memo is what is known of the tokens that go on from a state of the lexer: those
// that stay within its lexemes, and where others leave it. It does not depend on
// rows, so all rows and all sequences share it.
type memo struct {
	slice int      // tokens of this slice are allowed
	list  []int32  // allowed tokens; or
	bits  []uint32 // allowed tokens, one bit each
	exits []group
}

// A group is where tokens may leave a state with the same lexemes ending.
type group struct {
	ends *endSet
	*places
}

// places are the nodes that may begin the next lexeme. Equal ones are the same, so
// that ways to cut a token that come together again are followed once.
type places struct {
	spans []span
	memos atomic.Pointer[placesMemo]
}

// A placesMemo says what comes of places if the next lexemes begin with state.
type placesMemo struct {
	state *lexState
	memo  *memo
	next  *placesMemo
}

func (p *places) find(s *lexState) *memo {
	for m := p.memos.Load(); m != nil; m = m.next {
		if m.state == s {
			return m.memo
		}
	}
	return nil
}

func (p *places) keep(s *lexState, m *memo) {
	n := &placesMemo{state: s, memo: m}
	for {
		n.next = p.memos.Load()
		if p.memos.CompareAndSwap(n.next, n) {
			return
		}
	}
}

// memory holds the places of a grammar by hash, and counts the bytes of its memos.
type memory struct {
	mu     sync.Mutex
	places map[uint64][]*places
	used   int
	limit  int
}

// intern returns the places with these spans, which it keeps if they are new.
func (m *memory) intern(spans []span) *places {
	h := uint64(len(spans))
	for _, s := range spans {
		h = (h ^ uint64(uint32(s.lo))) * 0xFF51AFD7ED558CCD
		h ^= h >> 32
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.places[h] {
		if slices.Equal(p.spans, spans) {
			return p
		}
	}
	p := &places{spans: slices.Clone(spans)}
	if m.places == nil {
		m.places = map[uint64][]*places{}
	}
	m.places[h] = append(m.places[h], p)
	m.used += int(unsafe.Sizeof(*p)) + int(unsafe.Sizeof(span{}))*len(spans)
	return p
}

func (m *memo) size() int {
	return int(unsafe.Sizeof(*m)+unsafe.Sizeof(placesMemo{})) + 4*len(m.list) + 4*len(m.bits) + int(unsafe.Sizeof(group{}))*len(m.exits)
}

// count adds a memo. If there are too many, all are forgotten; those in use live
// until then.
func (g *Grammar) count(m *memo) {
	g.memory.mu.Lock()
	g.memory.used += m.size()
	full := g.memory.used > g.memory.limit
	if full {
		g.memory.used = 0
		g.memory.places = nil
	}
	g.memory.mu.Unlock()
	if !full {
		return
	}
	l := g.lex
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.states {
		for ; s != nil; s = s.same {
			s.root.Store(nil)
		}
	}
}

// maxApplied bounds the memos joined for one mask. Ambiguous lexemes can cut a token
// in very many ways; past the bound the mask is made by reading every token once.
const maxApplied = 1000

var errManyWays = errors.New("grammar: many ways to cut a token")

// Mask sets dst to the tokens that may come next, bit id%32 of word id/32. dst has
// Trie.Words words. An end token is allowed exactly if the text may end. After the
// end there is no mask, but ErrEnded.
func (s *State) Mask(dst []uint32) error {
	t := s.g.trie
	if len(dst) != t.Words() {
		panic(fmt.Sprintf("grammar: a mask of %d words for %d tokens", len(dst), t.Tokens()))
	}
	clear(dst)
	m := s.now()
	if s.err != nil {
		return s.err
	}
	if m.ended {
		return ErrEnded
	}
	s.work = 0
	s.visits = s.visits[:0]
	if _, err := s.head(m); err != nil {
		return err
	}
	applied := maxApplied
	err := s.join(dst, m, &applied)
	if err == errManyWays {
		s.drop(m)
		err = s.walk(dst, m) // what dst has is right, but not all
	}
	s.drop(m)
	if err != nil {
		clear(dst)
		return s.fail(err)
	}
	if m.head >= 0 {
		s.symbols(dst, &s.rows[m.head])
	}
	return nil
}

// symbols adds the special tokens and the ends that may come at a row.
func (s *State) symbols(dst []uint32, r *row) {
	if r.final {
		for _, id := range s.g.trie.eog {
			dst[id>>5] |= 1 << (id & 31)
		}
	}
	if !r.tokens {
		return
	}
	for _, it := range s.items[r.lo:r.hi] {
		if n := s.g.code[it.pos] - s.g.nLex; n >= 0 && n < s.g.nTokens {
			for _, id := range s.g.tokens[n] {
				dst[id>>5] |= 1 << (id & 31)
			}
		}
	}
}

// join makes a mask of memos: what is allowed after m is what any of its threads
// allows.
func (s *State) join(dst []uint32, m *mark, applied *int) error {
	for i := m.lo; i < m.hi; i++ {
		if err := s.whole(dst, s.threads[i], applied); err != nil {
			return err
		}
	}
	if m.head >= 0 {
		return s.whole(dst, thread{m.head, s.rows[m.head].begin}, applied)
	}
	return nil
}

// whole adds the tokens that a thread allows.
func (s *State) whole(dst []uint32, t thread, applied *int) error {
	if t.lex == s.g.lex.dead {
		return nil
	}
	memo := t.lex.root.Load()
	if memo == nil {
		var err error
		if memo, err = s.g.remember(t.lex, nil, &s.work); err != nil {
			return err
		}
		t.lex.root.Store(memo)
		s.g.count(memo)
	}
	return s.apply(dst, t.row, memo, applied)
}

// apply adds what a memo says, if its lexemes began at row.
func (s *State) apply(dst []uint32, row int32, m *memo, applied *int) error {
	if *applied--; *applied < 0 {
		return errManyWays
	}
	m.or(dst, s.g.trie)
	for _, g := range m.exits {
		s.sources = append(s.sources[:0], source{row: row, ends: g.ends})
		next, err := s.scan(s.sources)
		if err != nil {
			return err
		}
		begin := s.rows[next].begin
		if v := (visit{next, g.places}); begin == s.g.lex.dead || slices.Contains(s.visits, v) {
			continue
		} else {
			s.visits = append(s.visits, v)
		}
		memo := g.find(begin)
		if memo == nil {
			if memo, err = s.g.remember(begin, g.spans, &s.work); err != nil {
				return err
			}
			g.keep(begin, memo)
			s.g.count(memo)
		}
		if err := s.apply(dst, next, memo, applied); err != nil {
			return err
		}
	}
	return nil
}

// A visit is a row and the places in tokens where its lexemes may begin. Rows that
// are made for a mask stay until it is done.
type visit struct {
	row    int32
	places *places
}

func (m *memo) or(dst []uint32, t *Trie) {
	if m.slice > 0 {
		or(dst, t.full[m.slice])
	}
	if m.bits != nil {
		or(dst, m.bits)
	}
	for _, id := range m.list {
		dst[id>>5] |= 1 << (id & 31)
	}
}

func or(dst, src []uint32) {
	dst = dst[:len(src)]
	for i, w := range src {
		dst[i] |= w
	}
}

// A walker is the working memory of remember.
type walker struct {
	stack  []*lexState // by depth
	bits   []uint32
	groups []exits
	been   []been // by node; nil until needed
	epoch  uint32
}

// exits is a group that is being made.
type exits struct {
	ends  *endSet
	spans []span
}

// been says in which state a node was last visited, and in which walk.
type been struct {
	state *lexState
	epoch uint32
}

// visitsAStep is how many nodes of a walk cost about what an Earley item does.
const visitsAStep = 8

// remember walks the nodes of spans from a state of the lexer; without spans, all
// tokens.
func (g *Grammar) remember(from *lexState, spans []span, work *int) (*memo, error) {
	t, l := g.trie, g.lex
	w, _ := t.walkers.Get().(*walker)
	if w == nil {
		w = &walker{stack: make([]*lexState, t.longest+1), bits: make([]uint32, t.Words())}
	}
	defer w.release(t)
	m := &memo{}
	nested := spans != nil
	if !nested {
		var err error
		if m.slice, err = l.slice(from, work); err != nil {
			return nil, err
		}
		spans = append(spans, t.parts[0])
		spans = append(spans, t.parts[m.slice+1:]...)
	} else if w.been == nil {
		w.been = make([]been, len(t.nodes))
	}
	if w.epoch++; w.epoch == 0 {
		clear(w.been)
		w.epoch = 1
	}
	allowed, visits := 0, 0
	for _, sp := range spans {
		w.stack[sp.depth-1] = from
		for i := sp.lo; i < sp.hi; {
			n := &t.nodes[i]
			visits++
			state := w.stack[n.depth-1]
			next := state.next[l.class[n.b]].Load()
			if next == nil {
				var err error
				if next, err = l.make(state, l.class[n.b], work); err != nil {
					return nil, err
				}
			}
			if next == l.dead {
				i += n.size
				continue
			}
			// Spans may lie in each other. What was walked in the same state is known.
			if nested {
				if b := &w.been[i]; b.epoch == w.epoch && b.state == next {
					i += n.size
					continue
				}
				w.been[i] = been{next, w.epoch}
			}
			for id := n.token; id >= 0; {
				w.bits[id>>5] |= 1 << (id & 31)
				allowed++
				if t.same == nil {
					break
				}
				id = t.same[id]
			}
			if n.size > 1 {
				if next.ends != nil {
					w.exit(t, next.ends, i)
				}
				w.stack[n.depth] = next
			}
			i++
		}
	}
	*work += visits / visitsAStep
	w.result(t, m, allowed, &g.memory)
	return m, nil
}

// release clears what holds on to the grammar and lends w to the next.
func (w *walker) release(t *Trie) {
	clear(w.stack)
	clear(w.bits)
	clear(w.groups)
	w.groups = w.groups[:0]
	t.walkers.Put(w)
}

func (w *walker) result(t *Trie, m *memo, allowed int, memory *memory) {
	for _, x := range w.groups {
		m.exits = append(m.exits, group{x.ends, memory.intern(x.spans)})
	}
	if allowed >= len(w.bits) {
		m.bits = slices.Clone(w.bits)
		if m.slice > 0 {
			or(m.bits, t.full[m.slice])
			m.slice = 0
		}
		return
	}
	m.list = make([]int32, 0, allowed)
	for i, x := range w.bits {
		for ; x != 0; x &= x - 1 {
			m.list = append(m.list, int32(i)<<5+int32(bits.TrailingZeros32(x)))
		}
	}
}

// exit notes that lexemes may end at node i, if what may follow goes on there.
func (w *walker) exit(t *Trie, ends *endSet, i int32) {
	end := i + t.nodes[i].size
	for c := i + 1; c < end; c += t.nodes[c].size {
		if !ends.follow.has(t.nodes[c].b) {
			continue
		}
		k := slices.IndexFunc(w.groups, func(x exits) bool { return x.ends == ends })
		if k < 0 {
			k = len(w.groups)
			w.groups = append(w.groups, exits{ends: ends})
		}
		x := &w.groups[k]
		x.spans = append(x.spans, span{i + 1, end, int32(t.nodes[i].depth) + 1})
		return
	}
}

// walk makes a mask by reading every token, with all threads at once.
func (s *State) walk(dst []uint32, m *mark) error {
	t := s.g.trie
	if s.levels == nil {
		s.levels = make([]mark, t.longest+1)
	}
	for _, sp := range t.parts {
		s.levels[0] = *m
		for i := sp.lo; i < sp.hi; {
			n := &t.nodes[i]
			from := &s.levels[n.depth-1]
			s.threads = s.threads[:from.hi]
			s.truncate(from.rows)
			to, err := s.step(from, n.b)
			if err != nil {
				return err
			}
			if to.lo == to.hi {
				i += n.size
				continue
			}
			s.levels[n.depth] = to
			for id := n.token; id >= 0; {
				dst[id>>5] |= 1 << (id & 31)
				if t.same == nil {
					break
				}
				id = t.same[id]
			}
			i++
		}
	}
	return nil
}
