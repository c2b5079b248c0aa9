package schema

import (
	"fmt"

	"quern/engine/grammar"
)

// automaton is the expression of the texts over the characters of numbers that lead
// from start to a state that accept takes. It is made of a number with so many figures.
func automaton[S comparable](figures int, start S, step func(S, byte) (S, bool), accept func(S) bool) (*node, error) {
	const alphabet = "-.0123456789"
	a := &grammar.Automaton{}
	for i := range len(alphabet) {
		a.Class[alphabet[i]] = uint8(i + 1)
	}
	number := map[S]int32{start: 0}
	states := []S{start}
	for i := 0; i < len(states); i++ {
		s := states[i]
		a.Accept = append(a.Accept, accept(s))
		next := make([]int32, len(alphabet)+1)
		next[0] = -1
		for k := range len(alphabet) {
			next[k+1] = -1
			t, ok := step(s, alphabet[k])
			if !ok {
				continue
			}
			n, seen := number[t]
			if !seen {
				if len(states) == maxStates {
					return nil, fmt.Errorf("needs an automaton of more than %d states", maxStates)
				}
				n = int32(len(states))
				number[t] = n
				states = append(states, t)
			}
			next[k+1] = n
		}
		a.Next = append(a.Next, next)
	}
	return &node{op: table, text: grammar.Table(a), automaton: a, figures: figures}, nil
}
