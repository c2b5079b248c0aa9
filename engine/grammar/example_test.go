package grammar_test

import (
	"fmt"

	"quern/engine/grammar"
)

// A list of numbers and lists, for a vocabulary of five tokens.
func Example() {
	b := grammar.NewBuilder(grammar.Limits{})
	digits := grammar.Plus(grammar.Chars(grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'})))
	list := b.Rule("list")
	value := b.Alt(b.Lexeme(digits), list)
	b.Define(list, b.Seq(
		b.Literal("["),
		b.Opt(b.Seq(value, b.Repeat(b.Seq(b.Literal(","), value), 0, grammar.Unbounded))),
		b.Literal("]")))

	tokens := []string{"<end>", "[", "]]", "1", ",["}
	v := grammar.Vocab{EOG: []int32{0}}
	for _, t := range tokens {
		v.Bytes = append(v.Bytes, []byte(t))
	}
	trie, err := grammar.NewTrie(v)
	if err != nil {
		panic(err)
	}
	g, err := b.Compile(list, trie)
	if err != nil {
		panic(err)
	}
	s := g.New()
	mask := make([]uint32, trie.Words())
	for _, drawn := range []int32{1, 1, 3, 2, 0} {
		if err := s.Mask(mask); err != nil {
			panic(err)
		}
		var allowed []string
		for id, t := range tokens {
			if mask[id/32]>>(id%32)&1 != 0 {
				allowed = append(allowed, t)
			}
		}
		fmt.Println(allowed)
		if err := s.Accept(drawn); err != nil {
			panic(err)
		}
	}
	// Output:
	// [[]
	// [[ 1]
	// [[ ]] 1]
	// []] 1 ,[]
	// [<end>]
}
