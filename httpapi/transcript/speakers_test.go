package transcript_test

import (
	"testing"

	"quern/engine"
	"quern/httpapi/transcript"
)

// TestNames: a speaker who is not known by name is not given the name of one who is.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		known []string
		want  string
	}{
		{[]string{"", "", ""}, "A B C"},
		{[]string{"Bea", "", ""}, "Bea B C"},
		{[]string{"B", "", ""}, "B E C"},
		{[]string{"", "", "A"}, "D B A"},
		{[]string{"B", "", "E"}, "B H E"},
	} {
		x := &transcript.Transcript{Speakers: &engine.Speakers{Names: tt.known}}
		got := x.Name(1, transcript.Lettered)
		for i := 2; i <= len(tt.known); i++ {
			got += " " + x.Name(i, transcript.Lettered)
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.known, got, tt.want)
		}
	}
	if got := (&transcript.Transcript{}).Name(1, transcript.Lettered); got != "" {
		t.Errorf("without speakers: %q", got)
	}
}
