package regex_test

import (
	"fmt"

	"quern/engine/grammar/regex"
)

func ExampleParse() {
	r, err := regex.Parse(`[a-z]*`, regex.Options{})
	fmt.Println(r.Nullable(), err)
	_, err = regex.Parse(`(a)\1`, regex.Options{})
	fmt.Println(err != nil)
	// Output:
	// true <nil>
	// true
}
