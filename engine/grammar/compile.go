package grammar

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// ErrNothing says that no text at all fits a grammar.
var ErrNothing = errors.New("grammar: no text fits the grammar")

// A Grammar is compiled for one vocabulary. It is safe for concurrent use: its
// tables are filled as sequences need them, and are shared by all.
type Grammar struct {
	trie    *Trie
	limits  Limits
	lex     *lexer
	code    []int32   // right-hand sides: symbols, each closed by ^rule
	rules   []ruleSet // nonterminals
	loop    []int32   // by position in code: the loop whose body stands there, or -1
	tokens  [][]int32 // symbols that are any of some tokens, ascending
	atoms   []int32   // all of those, ascending
	root    int32     // nonterminal
	memory  memory
	nLex    int32
	nTokens int32
}

// A ruleSet is one nonterminal. Symbols are numbered lexemes first, then sets
// of tokens, then nonterminals.
type ruleSet struct {
	starts   []int32 // positions in code
	nullable bool
	min, max int32 // of a loop: how often its body, code[starts[0]], must and may come
	isLoop   bool
}

// Compile makes the Grammar of a rule or any other node, for the vocabulary of t.
func (b *Builder) Compile(root *Node, t *Trie) (*Grammar, error) {
	if b.err != nil {
		return nil, b.err
	}
	c := &compiler{limits: b.limits, trie: t, x: newExprs(&b.limits), folded: map[*Node]*fold{}, measured: map[*Regex]measure{}, mention: map[*Node]bool{}, numbers: map[*Node]int32{}}
	c.x.budget("steps to compile", b.limits.Compile)
	c.conv = newConverter(c.x)
	for _, r := range b.rules {
		if r.body == nil {
			return nil, fmt.Errorf("grammar: rule %q is not defined", r.name)
		}
	}
	if err := c.check(root); err != nil {
		return nil, err
	}
	return c.compile(root)
}

// Full reports whether a table that all sequences share has passed its limit. Then
// sequences will fail, and the grammar should be compiled again for new ones.
func (g *Grammar) Full() bool { return g.lex.full.Load() }

// Bytes is about how much memory g takes now, with what was made for its sequences;
// that grows to Limits.Memory and Limits.Memo.
func (g *Grammar) Bytes() int {
	n := int(unsafe.Sizeof(*g)) + 4*(len(g.code)+len(g.loop)+len(g.atoms))
	for _, r := range g.rules {
		n += int(unsafe.Sizeof(r)) + 4*len(r.starts)
	}
	for _, t := range g.tokens {
		n += int(unsafe.Sizeof(t)) + 4*len(t)
	}
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	return n + g.memory.used + int(g.lex.bytes.Load())
}

type compiler struct {
	limits   Limits
	trie     *Trie
	x        *exprs
	conv     *converter
	folded   map[*Node]*fold
	measured map[*Regex]measure
	mention  map[*Node]bool  // of the rule at hand
	numbers  map[*Node]int32 // symbols of nodes

	lexemes []lexeme
	byExpr  map[lexemeKey]int32
	tokens  [][]int32
	prods   [][]int32 // right-hand sides
	lhs     []int32   // of prods
	rules   []ruleSet // starts is filled last
}

type lexemeKey struct {
	expr     expr
	shortest bool
}

// Symbols while compiling: kind in the high bits.
const (
	symLexeme = iota << 28
	symToken
	symRule
	symKind = 7 << 28
)

// check bounds depth and looks at tokens. Rules are walked once each, from a list,
// so that only nesting counts as depth.
func (c *compiler) check(root *Node) error {
	depths := map[*Node]int{}
	var rules []*Node
	var err error
	var walk func(n *Node, below int) int
	walk = func(n *Node, below int) int {
		d, ok := depths[n]
		if !ok {
			if below > c.limits.Depth {
				err = &LimitError{"levels of nesting", c.limits.Depth}
				return 0
			}
			depths[n] = 1
			switch n.op {
			case nodeRule:
				rules = append(rules, n)
			case nodeToken:
				for _, id := range n.tokens {
					if id < 0 || int(id) >= c.trie.Tokens() {
						err = fmt.Errorf("grammar: token %d of a vocabulary of %d", id, c.trie.Tokens())
					} else if slices.Contains(c.trie.eog, id) {
						err = fmt.Errorf("grammar: token %d ends a reply and cannot be a symbol", id)
					}
				}
			case nodeLexeme:
				if n.regex.deep > c.limits.Depth {
					err = &LimitError{"levels of nesting", c.limits.Depth}
				}
			}
			for _, k := range n.kids {
				d = max(d, walk(k, below+1))
			}
			d++
			depths[n] = d
		}
		if d+below > c.limits.Depth && err == nil {
			err = &LimitError{"levels of nesting", c.limits.Depth}
		}
		return d
	}
	walk(root, 0)
	for i := 0; i < len(rules) && err == nil; i++ {
		walk(rules[i].body, 0)
	}
	return err
}

func (c *compiler) compile(root *Node) (*Grammar, error) {
	c.byExpr = map[lexemeKey]int32{}
	c.reduce(root)
	if c.x.err != nil {
		return nil, c.x.err
	}
	start := c.symbol(root)
	if start&symKind != symRule {
		start = c.wrap(start)
	}
	if c.x.err != nil {
		return nil, c.x.err
	}
	g := &Grammar{trie: c.trie, limits: c.limits, tokens: c.tokens, nLex: int32(len(c.lexemes)), nTokens: int32(len(c.tokens))}
	if !c.trim(start &^ symKind) {
		return nil, ErrNothing
	}
	c.nullables()
	c.follows()
	if c.x.err != nil {
		return nil, c.x.err
	}
	g.flatten(c, start&^symKind)
	c.x.forget()
	g.lex = newLexer(c.x, c.lexemes, &g.limits)
	g.memory.limit = c.limits.Memo
	// Tries the first row, so that what can never begin is known now.
	if s := g.New(); s.err != nil {
		return nil, s.err
	}
	return g, nil
}

// symbol returns the symbol of a node, making its productions.
func (c *compiler) symbol(n *Node) int32 {
	if s, ok := c.numbers[n]; ok {
		return s
	}
	if !c.x.spend(1 + len(n.kids)) {
		return symRule
	}
	if f := c.folded[n]; f != nil && f.regular {
		s := c.lexeme(f.regex, f.shortest)
		c.numbers[n] = s
		return s
	}
	if n.op == nodeToken {
		if len(n.tokens) == 0 {
			return c.lexeme(Nothing(), false)
		}
		i := slices.IndexFunc(c.tokens, func(t []int32) bool { return slices.Equal(t, n.tokens) })
		if i < 0 {
			i = len(c.tokens)
			c.tokens = append(c.tokens, n.tokens)
		}
		s := int32(symToken | i)
		c.numbers[n] = s
		return s
	}
	nt := int32(len(c.rules))
	c.rules = append(c.rules, ruleSet{})
	c.numbers[n] = symRule | nt
	body := n
	if f := c.folded[n]; f != nil && f.node != nil {
		body = f.node
	}
	switch body.op {
	case nodeAlt:
		for _, k := range body.kids {
			c.production(nt, c.sequence(k))
		}
	case nodeRepeat:
		c.rules[nt].isLoop = true
		c.rules[nt].min, c.rules[nt].max = int32(body.min), int32(body.max)
		c.production(nt, []int32{c.symbol(body.kids[0])})
	default:
		c.production(nt, c.sequence(body))
	}
	return symRule | nt
}

// sequence returns the symbols of a node that is the whole of a production.
func (c *compiler) sequence(n *Node) []int32 {
	seq := n
	if f := c.folded[n]; f != nil && !f.regular && f.node != nil && n.op != nodeRule {
		seq = f.node
	} else if f != nil {
		return []int32{c.symbol(n)}
	}
	if seq.op != nodeSeq {
		return []int32{c.symbol(n)}
	}
	syms := make([]int32, len(seq.kids))
	for i, k := range seq.kids {
		syms[i] = c.symbol(k)
	}
	return syms
}

func (c *compiler) wrap(sym int32) int32 {
	nt := int32(len(c.rules))
	c.rules = append(c.rules, ruleSet{})
	c.production(nt, []int32{sym})
	return symRule | nt
}

func (c *compiler) production(nt int32, syms []int32) {
	c.x.spend(1 + len(syms))
	c.prods = append(c.prods, syms)
	c.lhs = append(c.lhs, nt)
}

// lexeme returns the symbol of a regular expression. What matches nothing has no
// productions; what matches only the empty string has an empty one.
func (c *compiler) lexeme(r *Regex, shortest bool) int32 {
	e := c.conv.convert(r)
	if shortest && c.x.nullable(e) {
		e = empty
	}
	key := lexemeKey{e, shortest}
	if s, ok := c.byExpr[key]; ok {
		return s
	}
	var s int32
	if e == nothing || e == empty {
		nt := int32(len(c.rules))
		c.rules = append(c.rules, ruleSet{})
		if e == empty {
			c.production(nt, nil)
		}
		s = symRule | nt
	} else {
		s = symLexeme | int32(len(c.lexemes))
		c.lexemes = append(c.lexemes, lexeme{expr: e, shortest: shortest, nullable: c.x.nullable(e)})
	}
	c.byExpr[key] = s
	return s
}

// trim drops productions that no text comes of, and reports whether any does.
func (c *compiler) trim(root int32) bool {
	var reps []byte
	var l lexer
	for i := range c.lexemes {
		if e := c.lexemes[i].expr; c.x.nodes[e].negative {
			if reps == nil {
				l = lexer{exprs: c.x}
				l.classify()
				reps = l.reps
			}
			if !c.x.matchesSome(e, reps) && c.x.err == nil {
				c.lexemes[i].expr = nothing
			}
		}
	}
	some := c.fixpoint(func(s int32, some []bool) bool {
		switch s & symKind {
		case symLexeme:
			return c.lexemes[s&^symKind].expr != nothing
		case symRule:
			return some[s&^symKind] || c.rules[s&^symKind].isLoop && c.rules[s&^symKind].min == 0
		}
		return true
	})
	n := 0
	for i, p := range c.prods {
		dead := slices.ContainsFunc(p, func(s int32) bool {
			return s&symKind == symRule && !some[s&^symKind] && !(c.rules[s&^symKind].isLoop && c.rules[s&^symKind].min == 0) ||
				s&symKind == symLexeme && c.lexemes[s&^symKind].expr == nothing
		})
		if dead {
			continue
		}
		c.prods[n], c.lhs[n] = p, c.lhs[i]
		n++
	}
	c.prods, c.lhs = c.prods[:n], c.lhs[:n]
	return some[root] || c.rules[root].isLoop && c.rules[root].min == 0
}

// fixpoint marks the nonterminals that have a production all of whose symbols hold.
func (c *compiler) fixpoint(holds func(s int32, marked []bool) bool) []bool {
	marked := make([]bool, len(c.rules))
	uses := make([][]int32, len(c.rules)) // productions in which a nonterminal stands
	for i, p := range c.prods {
		for _, s := range p {
			if s&symKind == symRule {
				uses[s&^symKind] = append(uses[s&^symKind], int32(i))
			}
		}
	}
	var list []int32
	try := func(i int32) {
		nt := c.lhs[i]
		if !marked[nt] && !slices.ContainsFunc(c.prods[i], func(s int32) bool { return !holds(s, marked) }) {
			marked[nt] = true
			list = append(list, nt)
		}
	}
	for i := range c.prods {
		try(int32(i))
	}
	for len(list) > 0 {
		nt := list[len(list)-1]
		list = list[:len(list)-1]
		for _, i := range uses[nt] {
			if c.x.spend(len(c.prods[i])) {
				try(i)
			}
		}
	}
	return marked
}

// nullables finds what may be empty. A loop whose body may be has no minimum.
func (c *compiler) nullables() {
	null := c.fixpoint(func(s int32, null []bool) bool {
		switch s & symKind {
		case symLexeme:
			return c.lexemes[s&^symKind].nullable
		case symRule:
			return null[s&^symKind] || c.rules[s&^symKind].isLoop && c.rules[s&^symKind].min == 0
		}
		return false
	})
	for i := range c.rules {
		r := &c.rules[i]
		if r.isLoop && null[i] {
			r.min = 0
		}
		r.nullable = null[i] || r.isLoop && r.min == 0
	}
}

// follows computes for each lexeme the bytes that may come after it anywhere.
func (c *compiler) follows() {
	first := make([]byteSet, len(c.rules))
	follow := make([]byteSet, len(c.rules))
	ofSym := func(s int32) byteSet {
		switch s & symKind {
		case symLexeme:
			return c.x.first(c.lexemes[s&^symKind].expr)
		case symRule:
			return first[s&^symKind]
		}
		return byteSet{}
	}
	nullable := func(s int32) bool {
		switch s & symKind {
		case symLexeme:
			return c.lexemes[s&^symKind].nullable
		case symRule:
			return c.rules[s&^symKind].nullable
		}
		return false
	}
	for changed := true; changed; {
		changed = false
		for i, p := range c.prods {
			s := first[c.lhs[i]]
			for _, sym := range p {
				t := ofSym(sym)
				s.or(&t)
				if !nullable(sym) {
					break
				}
			}
			if s != first[c.lhs[i]] {
				first[c.lhs[i]] = s
				changed = true
			}
			if !c.x.spend(len(p)) {
				return
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i, p := range c.prods {
			after := follow[c.lhs[i]]
			if c.rules[c.lhs[i]].isLoop {
				t := ofSym(p[0])
				after.or(&t)
			}
			for j := len(p) - 1; j >= 0; j-- {
				sym := p[j]
				var to *byteSet
				switch sym & symKind {
				case symLexeme:
					to = &c.lexemes[sym&^symKind].follow
				case symRule:
					to = &follow[sym&^symKind]
				}
				if to != nil {
					old := *to
					to.or(&after)
					changed = changed || old != *to
				}
				t := ofSym(sym)
				if nullable(sym) {
					after.or(&t)
				} else {
					after = t
				}
			}
			if !c.x.spend(len(p)) {
				return
			}
		}
	}
}

// flatten writes the productions as the recogniser reads them.
func (g *Grammar) flatten(c *compiler, root int32) {
	g.rules, g.root = c.rules, root
	for _, t := range c.tokens {
		g.atoms = append(g.atoms, t...)
	}
	slices.Sort(g.atoms)
	g.atoms = slices.Compact(g.atoms)
	for i, p := range c.prods {
		nt := c.lhs[i]
		g.rules[nt].starts = append(g.rules[nt].starts, int32(len(g.code)))
		for _, s := range p {
			n := s &^ symKind
			switch s & symKind {
			case symToken:
				n += g.nLex
			case symRule:
				n += g.nLex + g.nTokens
			}
			g.code = append(g.code, n)
			loop := int32(-1)
			if c.rules[nt].isLoop {
				loop = nt
			}
			g.loop = append(g.loop, loop)
		}
		g.code = append(g.code, ^nt)
		g.loop = append(g.loop, -1)
	}
}
