package rules_test

import (
	"encoding/json"
	"fmt"

	"quern/engine/grammar"
	"quern/engine/wire"
	"quern/engine/wire/rules"
)

// A model has to call the one tool there is.
func Example() {
	format, _ := wire.Find("hermes-json")
	b := grammar.NewBuilder(grammar.Limits{})
	root, _, err := rules.Add(b, format, rules.Options{Required: true, Tools: []wire.Tool{{
		Name:       "get_time",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"zone": {"enum": ["UTC"]}}, "required": ["zone"]}`),
	}}})
	if err != nil {
		panic(err)
	}
	var bytes [][]byte
	for i := range 256 {
		bytes = append(bytes, []byte{byte(i)})
	}
	trie, err := grammar.NewTrie(grammar.Vocab{Bytes: append(bytes, nil), EOG: []int32{256}})
	if err != nil {
		panic(err)
	}
	g, err := b.Compile(root, trie)
	if err != nil {
		panic(err)
	}
	s := g.New()
	for _, c := range []byte("<tool_call>\n{\"name\"") {
		if err := s.Accept(int32(c)); err != nil {
			panic(err)
		}
	}
	fmt.Println(s.Allows(':'), s.Allows('x'), s.MayEnd())
	// Output:
	// true false false
}
