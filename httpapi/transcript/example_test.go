package transcript_test

import (
	"fmt"

	"quern/engine"
	"quern/httpapi/transcript"
)

func ExampleSRT() {
	fmt.Print(transcript.SRT([]engine.Segment{{Start: 0.5, End: 2.25, Text: " Good morning."}}))
	// Output:
	// 1
	// 00:00:00,500 --> 00:00:02,250
	// Good morning.
}
