package speakers_test

import (
	"fmt"

	"quern/engine/asr/heard"
	"quern/engine/asr/speakers"
)

// A segment in which two speak is cut where the speaker changes.
func ExampleResult_Label() {
	turns := []speakers.Turn{{Start: 0, End: 1, Speaker: 0}, {Start: 1, End: 2, Speaker: 1}}
	r := speakers.Result{Turns: turns, Sole: turns}
	for _, s := range r.Label([]heard.Segment{{End: 2, Words: []heard.Word{{Text: " Hello.", End: 0.8}, {Text: " Hi.", Start: 1.2, End: 1.6}}}}) {
		fmt.Printf("%d:%s\n", s.Speaker, s.Text)
	}
	// Output:
	// 1: Hello.
	// 2: Hi.
}
