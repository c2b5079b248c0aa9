package schema_test

import (
	"fmt"

	"quern/engine/grammar"
	"quern/engine/grammar/schema"
)

// What cannot be enforced is refused by its place; what is a comment is reported.
func ExampleAdd() {
	for _, src := range []string{
		`{"type": "object", "properties": {"city": {"type": "string", "format": "place"}}}`,
		`{"properties": {"n": {"type": "number", "multipleOf": 0}}}`,
	} {
		_, notes, err := schema.Add(grammar.NewBuilder(grammar.Limits{}), []byte(src), schema.Options{})
		fmt.Println(notes, err)
	}
	// Output:
	// [format place: not known, ignored] <nil>
	// [] /properties/n/multipleOf: wants a number above 0
}
