package diarize_test

import (
	"fmt"

	"quern/engine/asr/diarize"
)

// Files are read before a model is loaded, so that settings are refused early.
func Example() {
	fmt.Println(diarize.Check(diarize.Files{}))
	// Output:
	// <nil>
}
