package grammar

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
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
	exits []*group
}

// A group is where tokens may leave a state with the same lexemes ending: the nodes
// that may begin the next lexeme.
type group struct {
	ends  *endSet
	spans []span
	memos atomic.Pointer[groupMemo]
}

// A groupMemo says what comes of a group if the next lexemes begin with state.
type groupMemo struct {
	state *lexState
	memo  *memo
	next  *groupMemo
}

func (g *group) find(s *lexState) *memo {
	for m := g.memos.Load(); m != nil; m = m.next {
		if m.state == s {
			return m.memo
		}
	}
	return nil
}

func (g *group) keep(s *lexState, m *memo) {
	n := &groupMemo{state: s, memo: m}
	for {
		n.next = g.memos.Load()
		if g.memos.CompareAndSwap(n.next, n) {
			return
		}
	}
}

// memory counts the bytes of the memos of a grammar.
type memory struct {
	used  atomic.Int64
	limit int
}

func (m *memo) size() int {
	n := int(unsafe.Sizeof(*m)) + 4*len(m.list) + 4*len(m.bits)
	for _, g := range m.exits {
		n += int(unsafe.Sizeof(*g)) + int(unsafe.Sizeof(groupMemo{})) + 12*len(g.spans)
	}
	return n
}

// count adds a memo. If there are too many, all are forgotten; those in use live
// until then.
func (g *Grammar) count(m *memo) {
	n := int64(m.size())
	if g.memory.used.Add(n) <= int64(g.memory.limit) {
		return
	}
	l := g.lex
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.states {
		for _, s := range list {
			s.root.Store(nil)
		}
	}
	g.memory.used.Store(n)
}

// maxApplied bounds the memos joined for one mask. Ambiguous lexemes can cut a token
// in very many ways; past the bound the mask is made by reading every token once.
const maxApplied = 300

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
			id := s.g.tokens[n]
			dst[id>>5] |= 1 << (id & 31)
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
		rows := int32(len(s.rows))
		s.sources = append(s.sources[:0], source{row: row, ends: g.ends})
		next, err := s.scan(s.sources)
		if err != nil {
			return err
		}
		if begin := s.rows[next].begin; begin != s.g.lex.dead {
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
		s.truncate(rows)
	}
	return nil
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
	groups []*group
	been   []been // by node; nil until needed
	epoch  uint32
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
	w.result(m, allowed)
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

func (w *walker) result(m *memo, allowed int) {
	m.exits = slices.Clone(w.groups)
	for _, g := range m.exits {
		g.spans = slices.Clip(g.spans)
	}
	if allowed >= len(w.bits) {
		m.bits = slices.Clone(w.bits)
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
		k := slices.IndexFunc(w.groups, func(g *group) bool { return g.ends == ends })
		if k < 0 {
			k = len(w.groups)
			w.groups = append(w.groups, &group{ends: ends})
		}
		g := w.groups[k]
		g.spans = append(g.spans, span{i + 1, end, int32(t.nodes[i].depth) + 1})
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
