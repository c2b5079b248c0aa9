package schema

import (
	"encoding/binary"
	"fmt"

	"quern/engine/grammar"
)

// Numbers under several divisors are one automaton. As an intersection of several, each
// place in a number would ask anew which of very many remainders can still come.

// maxProduct bounds the states of an automaton made of several.
const maxProduct = 65_536

// joined returns n, or the same numbers with all divisors in one automaton, if there are
// several. Bounds beside them stay apart, since they multiply its states, unless they
// are what keeps those few.
func (c *compiler) joined(n *node) (*node, error) {
	if n.divided() < 2 {
		return n, nil
	}
	if n.op != both {
		return c.oneAutomaton(n)
	}
	var divided, beside []*node
	for _, m := range n.list {
		if m.divided() > 0 {
			divided = append(divided, m)
		} else {
			beside = append(beside, m)
		}
	}
	m, err := c.oneAutomaton(and(divided...))
	if err != nil {
		return c.oneAutomaton(n)
	}
	return and(append(beside, m)...), nil
}

func (c *compiler) oneAutomaton(n *node) (*node, error) {
	key := string(n.shape(nil))
	j, ok := c.products[key]
	if !ok {
		p := product{numbers: map[*node]int{}}
		t, err := p.term(n)
		if err != nil {
			return nil, err
		}
		if j.as, err = p.join(t); err != nil {
			return nil, err
		}
		j.as.figures, j.of = n.digits(), n
		c.products[key] = j
	}
	return j.as, nil
}

// A joining is a node and its one automaton. The node is kept, since its leaves' places
// in memory stand in the key.
type joining struct{ of, as *node }

// shape appends what the same connectives of the same leaves have alone.
func (n *node) shape(b []byte) []byte {
	switch n.op {
	case both, either, except:
		b = append(b, '(', byte(n.op))
		for _, m := range n.list {
			b = m.shape(b)
		}
		return append(b, ')')
	}
	return fmt.Appendf(b, "%p", n)
}

// divided is how many divisors above 1 stand in n.
func (n *node) divided() int {
	count := 0
	if n.divisor > 1 {
		count = 1
	}
	for _, m := range n.list {
		count += m.divided()
	}
	return count
}

// A product runs automata together. Its state is those of all; -1 is of one that cannot
// come to its end any more.
type product struct {
	numbers map[*node]int // of parts
	parts   []*grammar.Automaton
	living  [][]bool
}

// A term is a node of which the leaves are parts of a product.
type term struct {
	op   op // both, either, except, or table
	list []term
	part int // of a table
}

func (p *product) term(n *node) (t term, err error) {
	switch t.op = n.op; n.op {
	case both, either, except:
		t.list = make([]term, len(n.list))
		for i, m := range n.list {
			if t.list[i], err = p.term(m); err != nil {
				return t, err
			}
		}
		return t, nil
	}
	k, ok := p.numbers[n]
	if !ok {
		if k, err = p.add(n); err != nil {
			return t, err
		}
		p.numbers[n] = k
	}
	return term{op: table, part: k}, nil
}

// add is the number of the part that runs the automaton of a leaf.
func (p *product) add(leaf *node) (int, error) {
	var err error
	switch {
	case leaf == whole:
		leaf, err = multiples(one)
	case leaf.number != nil:
		leaf, err = compared(leaf.number, same)
	}
	if err != nil {
		return 0, err
	}
	a := leaf.automaton
	if a == nil {
		return 0, fmt.Errorf("is joined with an expression that is no number's")
	}
	p.parts = append(p.parts, a)
	p.living = append(p.living, a.Living())
	return len(p.parts) - 1, nil
}

func (p *product) join(t term) (*node, error) {
	n := len(p.parts)
	states := make([]int32, n) // n of each; all begin in 0
	key := make([]byte, 4*n)
	number := map[string]int32{string(key): 0}
	to := make([]int32, n)
	out := &grammar.Automaton{Class: p.parts[0].Class}
	classes := len(p.parts[0].Next[0])
	for i := 0; i*n < len(states); i++ {
		out.Accept = append(out.Accept, p.holds(&t, states[i*n:], true) == yes)
		next := make([]int32, classes)
		next[0] = -1 // no character of numbers
		for class := 1; class < classes; class++ {
			next[class] = -1
			for k, a := range p.parts {
				to[k] = -1
				if at := states[i*n+k]; at >= 0 {
					if s := a.Next[at][class]; s >= 0 && p.living[k][s] {
						to[k] = s
					}
				}
				binary.LittleEndian.PutUint32(key[4*k:], uint32(to[k]))
			}
			if p.holds(&t, to, false) == no {
				continue
			}
			s, seen := number[string(key)]
			if !seen {
				if len(number) == maxProduct {
					return nil, fmt.Errorf("needs an automaton of more than %d states, together with other divisors", maxProduct)
				}
				s = int32(len(number))
				number[string(key)] = s
				states = append(states, to...)
			}
			next[class] = s
		}
		out.Next = append(out.Next, next)
	}
	return &node{op: table, text: grammar.Table(out), automaton: out, divisor: len(number)}, nil
}

// answer is what is known of whether texts are of a term.
type answer int8

const (
	no answer = iota - 1
	perhaps
	yes
)

// holds reports whether texts are of t that lead to the states and end there, or, without
// ends, go on.
func (p *product) holds(t *term, at []int32, ends bool) answer {
	switch t.op {
	case both:
		worst := yes
		for i := range t.list {
			if worst = min(worst, p.holds(&t.list[i], at, ends)); worst == no {
				break
			}
		}
		return worst
	case either:
		best := no
		for i := range t.list {
			if best = max(best, p.holds(&t.list[i], at, ends)); best == yes {
				break
			}
		}
		return best
	case except:
		return -p.holds(&t.list[0], at, ends)
	}
	switch s := at[t.part]; {
	case s < 0:
		return no
	case !ends:
		return perhaps
	case p.parts[t.part].Accept[s]:
		return yes
	}
	return no
}
