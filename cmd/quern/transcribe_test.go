package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
)

// Audio that is cut short is written down as far as it goes, and a warning says so. It
// is a failure when nothing is said in what there is.
func TestTranscribeCut(t *testing.T) {
	model := fixtures.Path(t, "whisper", "ggml-tiny-f16.bin")
	speech, err := os.ReadFile(fixtures.Path(t, "whisper", "jfk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		write(t, path, string(data))
		return path
	}
	const second = 2 * 16000
	head := 44 // of a WAV with nothing but fmt and data
	if i := strings.Index(string(speech), "data"); i > 0 {
		head = i + 8
	}
	silence := append([]byte(string(speech[:head])), make([]byte, len(speech)-head)...)
	for _, tt := range []struct {
		name  string
		files []string
		code  int
		heard bool
		errs  []string
	}{
		{"whole", []string{file("whole.wav", speech)}, 0, true, nil},
		{"cut", []string{file("cut.wav", speech[:head+5*second])}, 0, true, []string{"cut.wav: the audio is cut short: 5.0 s could be read of 11.0 s"}},
		{"whole silence", []string{file("quiet.wav", silence)}, 0, false, nil},
		{"cut silence", []string{file("quiet-cut.wav", silence[:head+2*second])}, 1, false, []string{"quiet-cut.wav: the audio is cut short: 2.0 s could be read of 11.0 s, and nothing is said in them"}},
		{"a bad file and a good one", []string{file("empty.wav", nil), file("good.wav", speech)}, 1, true, []string{"empty.wav: empty file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := quern(t, "", nil, append([]string{"transcribe", "--model", model, "--language", "en", "--without", "ratio,logprob,repeats"}, tt.files...)...)
			if code != tt.code || (strings.TrimSpace(out) != "") != tt.heard {
				t.Errorf("exit code %d, %q; want %d, and text: %v", code, out, tt.code, tt.heard)
			}
			has(t, "stderr", errs, tt.errs)
			if tt.errs == nil && errs != "" {
				t.Errorf("stderr %q", errs)
			}
		})
	}
}
