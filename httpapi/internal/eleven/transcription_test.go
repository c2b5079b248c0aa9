package eleven

import (
	"encoding/json"
	"math"
	"testing"

	"quern/engine"
	"quern/httpapi/transcript"
)

// Words of a model that does not time them have no times, and the speaker of their segment.
func TestWordsWithoutTimes(t *testing.T) {
	who := &engine.Speakers{Names: []string{"", ""}}
	x := &transcript.Transcript{Text: "Good day.", Speakers: who, Segments: []engine.Segment{{Text: " Good day.", Start: 1, End: 3, AvgLogprob: math.Log(0.5), Speaker: 2}}}
	got, err := json.Marshal(newVendorTranscript(x, "none").Words)
	if err != nil {
		t.Fatal(err)
	}
	const half = "-0.6931471805599453"
	if want := `[{"text":"Good","type":"word","speaker_id":"speaker_1","logprob":` + half + `},` +
		`{"text":" ","type":"spacing","speaker_id":"speaker_1","logprob":0},` +
		`{"text":"day.","type":"word","speaker_id":"speaker_1","logprob":` + half + `}]`; string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
