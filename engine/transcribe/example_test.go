package transcribe_test

import (
	"fmt"
	"log"
	"slices"

	"quern/engine/transcribe"
)

// Without a file the detector of speech is recognition's own.
func Example() {
	d, err := transcribe.OpenDetector("")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d == nil, slices.Contains(transcribe.Languages(), "en"))
	// Output:
	// true true
}
