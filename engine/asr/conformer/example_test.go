package conformer_test

import (
	"fmt"

	"quern/engine/asr/conformer"
)

// A folder without graphs and a file of tokens is no model.
func ExampleIsModel() {
	fmt.Println(conformer.IsModel("."))
	// Output:
	// false
}
