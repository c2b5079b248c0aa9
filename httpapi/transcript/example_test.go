package transcript_test

import (
	"encoding/json"
	"fmt"
	"log"

	"quern/engine"
	"quern/httpapi/transcript"
)

// A transcript is written as captions, or as JSON.
func Example() {
	segments := []engine.Segment{{Text: " Good morning.", Start: 0, End: 1.25}}
	fmt.Print(transcript.SRT(segments))
	t := transcript.New(segments, engine.TranscribeInfo{Language: "en", Duration: 1.5})
	b, err := json.Marshal(t.Verbose(false, false, false))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(b))
	// Output:
	// 1
	// 00:00:00,000 --> 00:00:01,250
	// Good morning.
	//
	// {"task":"transcribe","language":"english","language_code":"en","duration":1.5,"text":"Good morning.","usage":{"type":"duration","seconds":1.5}}
}
