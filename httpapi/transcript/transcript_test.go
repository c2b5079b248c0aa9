package transcript_test

import (
	"testing"

	"quern/engine"
	"quern/httpapi/transcript"
)

// TestVerboseLanguage: both members name the language of the text.
func TestVerboseLanguage(t *testing.T) {
	x := &transcript.Transcript{Info: engine.TranscribeInfo{Language: "ka"}}
	for _, tt := range []struct {
		translated       bool
		task, name, code string
	}{
		{false, "transcribe", "georgian", "ka"},
		{true, "translate", "english", "en"},
	} {
		if v := x.Verbose(tt.translated, false, false); v.Task != tt.task || v.Language != tt.name || v.LanguageCode != tt.code {
			t.Errorf("%+v, want %+v", v, tt)
		}
	}
}
