package gbnf_test

import (
	"fmt"

	"quern/engine/grammar"
	"quern/engine/grammar/gbnf"
)

func ExampleParse() {
	b := grammar.NewBuilder(grammar.Limits{})
	_, err := gbnf.Parse(b, `root ::= "yes" | "no" [.!]`, gbnf.Options{})
	fmt.Println(err)
	_, err = gbnf.Parse(b, `root ::= "yes" | missing`, gbnf.Options{})
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}
