package openai

import (
	"slices"
	"testing"

	"quern/codecs"
)

// What is offered is what can be made: AAC from the day there is an encoder.
func TestFormatsFollowTheEncoders(t *testing.T) {
	have := codecs.Encodings()
	if got, want := formats(have), []string{"mp3", "opus", "flac", "wav", "pcm"}; !slices.Equal(got, want) {
		t.Errorf("offered are %v, want %v", got, want)
	}
	have = append(have, codecs.Encoding{Name: "aac"})
	if got := formats(have); !slices.Contains(got, "aac") {
		t.Errorf("with an encoder of AAC: %v", got)
	}
	if got := formats(have[:1]); !slices.Equal(got, []string{"mp3"}) {
		t.Errorf("with MP3 alone: %v", got)
	}
}
