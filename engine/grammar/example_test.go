package grammar_test

import (
	"fmt"

	"quern/engine/grammar"
)

// A list of digits, for a vocabulary of six tokens.
func Example() {
	trie, err := grammar.NewTrie(grammar.Vocab{
		Bytes: [][]byte{[]byte("["), []byte("]"), []byte("1"), []byte("2,"), []byte("x"), nil},
		EOG:   []int32{5},
	})
	if err != nil {
		panic(err)
	}
	b := grammar.NewBuilder(grammar.Limits{})
	digit := b.Lexeme(grammar.Bytes('0', '9'))
	list := b.Seq(b.Literal("["), digit, b.Repeat(b.Seq(b.Literal(","), digit), 0, grammar.Unbounded), b.Literal("]"))
	g, err := b.Compile(list, trie)
	if err != nil {
		panic(err)
	}
	s := g.New()
	mask := make([]uint32, 1)
	for _, id := range []int32{0, 3, 2, 1} {
		if err := s.Mask(mask); err != nil {
			panic(err)
		}
		fmt.Printf("%06b\n", mask[0])
		if err := s.Accept(id); err != nil {
			panic(err)
		}
	}
	fmt.Println(s.MayEnd())
	// Output:
	// 000001
	// 001100
	// 001100
	// 000010
	// true
}
