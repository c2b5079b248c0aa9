// Package constrain makes masks for one model of the forms that requests demand of
// replies.
package constrain

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/grammar"
	"quern/engine/sample"
	"quern/engine/token"
)

// Limits of the cache and of the queue, each of one model.
const (
	maxCached  = 32       // grammars
	maxBytes   = 64 << 20 // of their memory, as they grow
	maxWaiting = 64       // requests that wait for a grammar
)

// limits bound one grammar, and a sequence's place in it, beside the defaults.
var limits = grammar.Limits{Rows: 250_000, Total: 1_000_000}

// A Compiler makes the grammars of one model. It is safe for concurrent use.
type Compiler struct {
	vocab *token.Vocab
	marks []token.ID    // that are no text either
	work  chan struct{} // holds one token for each grammar that is being made
	queue atomic.Int64  // requests that wait for work

	once    sync.Once // guards those below
	trie    *grammar.Trie
	ends    set // the tokens that end a reply
	symbols set // these and others that are no text
	longest int // bytes of a token
	trieErr error

	cache cache
}

// New returns the Compiler of a model with the vocabulary v, in which control tokens and
// marks are no text. Its tables of v are made with the first constraint.
func New(v *token.Vocab, marks ...token.ID) *Compiler {
	return &Compiler{vocab: v, marks: marks, work: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// A Grammar is a constraint that replies of a model can keep to.
type Grammar struct {
	Notes    []string // keywords of a schema that are read as comments
	MayThink bool     // of Calls: replies may open thinking
	g        *grammar.Grammar
	c        *Compiler
}

// A set is of tokens: bit id%32 of word id/32.
type set []uint32

func (s set) add(id token.ID)      { s[id>>5] |= 1 << (id & 31) }
func (s set) has(id token.ID) bool { return s[id>>5]&(1<<(id&31)) != 0 }

// Compile makes the grammar of a constraint, or finds one it made before. It works in
// the caller's goroutine, of few callers at a time; the others wait until ctx ends.
//
// Errors: those of ctx, or an *engine.Error that says what to change.
func (c *Compiler) Compile(ctx context.Context, k *engine.Constraint) (*Grammar, error) {
	if err := check(k); err != nil {
		return nil, err
	}
	e, err := c.entry(ctx, keyOf(k), func(b *grammar.Builder, g *Grammar) (root *grammar.Node, err error) {
		root, g.Notes, err = forms[k.Form].build(c, b, k)
		return root, err
	})
	if err != nil {
		return nil, err
	}
	if e.err != nil {
		return nil, refusal(k, e.err)
	}
	return e.grammar, nil
}

// A build makes the rules of a grammar, and returns notes about them.
type build func(*grammar.Builder, *Grammar) (root *grammar.Node, err error)

// entry returns the entry of key once it is ready.
func (c *Compiler) entry(ctx context.Context, key key, build build) (*entry, error) {
	e := c.cache.find(key)
	if e == nil {
		var err error
		if e, err = c.make(ctx, key, build); err != nil {
			return nil, err
		}
	}
	select {
	case <-e.ready:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// make returns the entry of key, which is the caller's work if there was none.
func (c *Compiler) make(ctx context.Context, key key, build build) (*entry, error) {
	if c.queue.Add(1) > maxWaiting+int64(cap(c.work)) {
		c.queue.Add(-1)
		return nil, engine.Errorf(engine.CodeQueueFull, "", "%d requests wait for their schemas and grammars to be compiled; try again later", maxWaiting).After(time.Second)
	}
	defer c.queue.Add(-1)
	select {
	case c.work <- struct{}{}:
		defer func() { <-c.work }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e, first := c.cache.enter(key)
	if first {
		c.fill(e, build)
		c.cache.shrink()
	}
	return e, nil
}

// fill makes the grammar of e. A panic ends requests that wait for it with an error, too.
func (c *Compiler) fill(e *entry, build build) {
	defer close(e.ready)
	defer func() {
		if p := recover(); p != nil {
			e.err = &panicError{p}
		}
	}()
	if c.once.Do(c.prepare); c.trieErr != nil {
		e.err = c.trieErr
		return
	}
	g := &Grammar{c: c}
	b := grammar.NewBuilder(limits)
	root, err := build(b, g)
	if err == nil {
		g.g, err = b.Compile(root, c.trie)
	}
	if err == nil {
		// The first mask often costs most. Made here it delays no step, and
		// a form that costs too much is refused before the answer begins.
		_, err = g.Mask().Bits()
	}
	if e.err = err; err == nil {
		e.grammar = g
	}
}

// prepare sorts the vocabulary. Tokens that the decoder of replies leaves out are no text.
func (c *Compiler) prepare() {
	n := c.vocab.Size()
	v := grammar.Vocab{Bytes: make([][]byte, n), EOG: c.vocab.Ending()}
	for id := range token.ID(n) {
		v.Bytes[id] = c.vocab.Bytes(id)
		switch c.vocab.Kind(id) {
		case token.Control, token.Unknown:
			v.Special = append(v.Special, id)
		default:
			if slices.Contains(c.marks, id) {
				v.Special = append(v.Special, id)
			}
		}
	}
	if c.trie, c.trieErr = grammar.NewTrie(v); c.trieErr != nil {
		return
	}
	c.ends, c.symbols = make(set, c.trie.Words()), make(set, c.trie.Words())
	for _, id := range v.EOG {
		c.ends.add(id)
		c.symbols.add(id)
	}
	for _, id := range v.Special {
		c.symbols.add(id)
	}
	for _, b := range v.Bytes {
		c.longest = max(c.longest, len(b))
	}
}

// Mask returns the mask of a reply that has not begun.
func (g *Grammar) Mask() sample.Mask {
	return &mask{state: g.g.New(), c: g.c, words: make([]uint32, g.c.trie.Words())}
}

// A mask is one reply's place in its Grammar.
type mask struct {
	state    *grammar.State
	c        *Compiler
	words    []uint32
	made     bool // words are those of state
	splitter splitter
}

// Bits implements sample.Mask.
func (m *mask) Bits() ([]uint32, error) {
	if !m.made {
		if err := m.state.Mask(m.words); err != nil {
			return nil, err
		}
		m.made = true
	}
	return m.words, nil
}

// Allows implements sample.Mask.
func (m *mask) Allows(id token.ID) bool { return m.state.Allows(id) }

// Accept implements sample.Mask.
func (m *mask) Accept(id token.ID) error {
	m.made = false
	return m.state.Accept(id)
}

// MayEnd implements sample.Mask.
func (m *mask) MayEnd() bool { return m.state.MayEnd() }

// Ended implements sample.Mask. Few places may be an end, so that it mostly costs
// nothing.
func (m *mask) Ended() bool {
	if !m.state.MayEnd() {
		return false
	}
	words, err := m.Bits()
	if err != nil {
		return err == grammar.ErrEnded
	}
	for i, w := range words {
		if w&^m.c.ends[i] != 0 {
			return false
		}
	}
	return true
}

// A key stands for all of a Constraint that matters to its grammar.
type key [sha256.Size]byte

func keyOf(k *engine.Constraint) (out key) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %t %d %s", k.Form, k.Strict, len(k.Source), k.Source)
	for _, c := range k.Choices {
		fmt.Fprintf(h, " %d %s", len(c), c)
	}
	h.Sum(out[:0])
	return out
}
