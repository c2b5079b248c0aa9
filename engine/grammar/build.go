package grammar

import (
	"fmt"
	"slices"
)

// A Builder makes the rules of one grammar. Its methods never return nil: the
// first mistake or limit passed is kept, Err and Compile return it, and what is
// built after it does not matter. Front ends whose work is not bounded by their
// input look at Err as they go. A Builder is not safe for concurrent use.
type Builder struct {
	limits Limits
	rules  []*Node
	names  map[string]bool
	nodes  int
	err    error
}

// A Node is a part of a grammar: the set of texts that may stand there. Nodes are
// immutable, belong to their Builder and may be used in many places. The Node of
// a rule stands for the rule, also before it is defined.
type Node struct {
	op       nodeOp
	regex    *Regex  // nodeLexeme
	shortest bool    // nodeLexeme
	tokens   []int32 // nodeToken, ascending
	min, max int     // nodeRepeat
	kids     []*Node
	name     string // nodeRule
	body     *Node  // nodeRule
}

type nodeOp uint8

const (
	nodeLexeme nodeOp = iota
	nodeToken
	nodeSeq
	nodeAlt
	nodeRepeat
	nodeRule
)

// NewBuilder returns an empty Builder. Limits of zero are the defaults.
func NewBuilder(l Limits) *Builder {
	return &Builder{limits: l.filled(), names: map[string]bool{}}
}

// Err returns the first mistake made or limit passed.
func (b *Builder) Err() error { return b.err }

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// add counts n and its edges.
func (b *Builder) add(n Node) *Node {
	b.nodes += 1 + len(n.kids)
	if b.nodes > b.limits.Nodes {
		b.fail(&LimitError{"nodes", b.limits.Nodes})
		return &Node{op: nodeSeq}
	}
	return &n
}

// Rule declares a rule, to be defined later; names must differ.
func (b *Builder) Rule(name string) *Node {
	if b.names[name] {
		b.fail(fmt.Errorf("grammar: rule %q is declared twice", name))
	}
	b.names[name] = true
	n := b.add(Node{op: nodeRule, name: name})
	n.op, n.name = nodeRule, name
	b.rules = append(b.rules, n)
	return n
}

// Define says what a declared rule is.
func (b *Builder) Define(rule, body *Node) {
	switch {
	case rule.op != nodeRule:
		b.fail(fmt.Errorf("grammar: Define of what is no rule"))
	case rule.body != nil:
		b.fail(fmt.Errorf("grammar: rule %q is defined twice", rule.name))
	default:
		rule.body = body
	}
}

// Lexeme is any text that r matches. The grammar means what a context-free
// grammar means: a lexeme may end wherever r matches and what follows fits, so
// where lexemes are cut never changes what is allowed, only how fast it is.
func (b *Builder) Lexeme(r *Regex) *Node { return b.add(Node{op: nodeLexeme, regex: r}) }

// Shortest is like Lexeme, but ends as soon as r matches.
func (b *Builder) Shortest(r *Regex) *Node {
	return b.add(Node{op: nodeLexeme, regex: r, shortest: true})
}

// Literal is the text s.
func (b *Builder) Literal(s string) *Node { return b.Lexeme(Lit(s)) }

// Token is any one of the tokens with these ids, and never the text that they are
// spelled with.
func (b *Builder) Token(ids ...int32) *Node {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	b.nodes += len(ids)
	return b.add(Node{op: nodeToken, tokens: slices.Compact(ids)})
}

// Seq is its parts in order; without any it is the empty text.
func (b *Builder) Seq(parts ...*Node) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return b.add(Node{op: nodeSeq, kids: slices.Clone(parts)})
}

// Alt is any one of the alternatives; without any there is no such text.
func (b *Builder) Alt(alternatives ...*Node) *Node {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return b.add(Node{op: nodeAlt, kids: slices.Clone(alternatives)})
}

// Repeat is n from min to max times; max may be Unbounded. Counts above 2^30 are
// taken as 2^30.
func (b *Builder) Repeat(n *Node, min, max int) *Node {
	if min < 0 || max != Unbounded && max < min {
		return b.Alt()
	}
	if max == 0 {
		return b.Seq()
	}
	min, max = clampRepeat(min, max)
	return b.add(Node{op: nodeRepeat, kids: []*Node{n}, min: min, max: max})
}

// Opt is n or the empty text.
func (b *Builder) Opt(n *Node) *Node { return b.Repeat(n, 0, 1) }

// Text is any bytes, none too, in which none of the stops occurs. The text may
// end in the beginning of a stop.
func (b *Builder) Text(stops ...string) *Node {
	anything := Star(AnyByte())
	parts := []*Regex{anything}
	for _, s := range stops {
		parts = append(parts, Not(Concat(anything, Lit(s), anything)))
	}
	return b.Lexeme(And(parts...))
}

// Choice is any one of the texts.
func (b *Builder) Choice(texts ...string) *Node {
	list := make([]*Regex, len(texts))
	for i, s := range texts {
		list[i] = Lit(s)
		b.add(Node{})
	}
	return b.Lexeme(Or(list...))
}
