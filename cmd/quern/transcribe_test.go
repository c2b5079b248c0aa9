package main

import (
	"encoding/json"
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
		{"whole silence", []string{file("quiet.wav", silence)}, 0, false, []string{"quiet.wav: the audio is silent: all samples of its 11.0 s are zero"}},
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
	_, out, _ := quern(t, "", nil, "transcribe", "--model", model, "--format", "json", filepath.Join(dir, "quiet.wav"))
	if !strings.Contains(out, `"the audio is silent: all samples of its 11.0 s are zero"`) {
		t.Errorf("the JSON of silence: %s", out)
	}
}

// Sound that is still coming, with a header and without, is written down piece by piece;
// what is known so far of a piece may be told too.
func TestTranscribeLive(t *testing.T) {
	model := fixtures.Path(t, "whisper", "ggml-tiny-f16.bin")
	speech, err := os.ReadFile(fixtures.Path(t, "whisper", "jfk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	samples := speech[strings.Index(string(speech), "data")+8:]
	ask := func(stdin []byte, more ...string) (string, string) {
		t.Helper()
		code, out, errs := quern(t, string(stdin), nil, append([]string{"transcribe", "--live", "--model", model, "--language", "en", "--without", "ratio,logprob,repeats"}, append(more, "-")...)...)
		if code != 0 {
			t.Errorf("exit code %d, %q", code, errs)
		}
		return out, errs
	}
	text, errs := ask(speech[:len(speech)-len(samples)+8*32000])
	if strings.TrimSpace(text) == "" || !strings.HasSuffix(text, "\n") || errs != "" {
		t.Errorf("%q, %q", text, errs)
	}
	lines, _ := ask(samples[:8*32000], "--raw", "pcm_16000", "--format", "json")
	joined, final := "", false
	for line := range strings.Lines(lines) {
		var h heard
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if h.Final && h.Tail != "" || h.Seconds > 8 || h.Start > h.End {
			t.Errorf("%+v", h)
		}
		joined, final = joined+h.Text, h.Final
	}
	if joined == "" || !final {
		t.Errorf("%q", lines)
	}
	if code, _, errs := quern(t, "this is no sound", nil, "transcribe", "--live", "--model", model, "-"); code != 1 || !strings.Contains(errs, "text: not supported") {
		t.Errorf("a text: exit code %d, %q", code, errs)
	}
}

// With --speakers lines say who speaks; files that do not fit, and numbers, are refused.
func TestTranscribeSpeakers(t *testing.T) {
	file := func(name ...string) string { return fixtures.Path(t, append([]string{"diarise"}, name...)...) }
	segmentation, embedding := file("models", "pyannote-seg-bands.onnx"), file("models", "wespeaker-emb-bands.onnx")
	ear, talk := file("models", "parakeet-onnx-asr"), file("signals", "talk.wav")
	networks := []string{"--segmentation", segmentation, "--embedding", embedding}
	for _, tt := range []struct {
		name      string
		args      []string
		code      int
		out, errs []string
	}{
		{"text", append([]string{"--speakers"}, networks...), 0, []string{"[SPEAKER_00]: ", "[SPEAKER_03]: "}, nil},
		{"whisperx", append([]string{"--speakers", "--format", "whisperx", "--num-speakers", "2"}, networks...), 0, []string{`"speaker":"SPEAKER_01"`, `"word_segments"`}, nil},
		{"no networks", []string{"--speakers"}, 1, nil, []string{"cannot tell who speaks", "segmentation"}},
		{"one network", []string{"--speakers", "--segmentation", segmentation}, 2, nil, []string{"embedding"}},
		{"changed about", []string{"--speakers", "--segmentation", embedding, "--embedding", segmentation}, 2, nil, []string{"--segmentation", "pyannote"}},
		{"a number alone", append([]string{"--num-speakers", "2"}, networks...), 2, nil, []string{"--num-speakers needs --speakers"}},
		{"too many", append([]string{"--speakers", "--num-speakers", "40"}, networks...), 2, nil, []string{"between 1 and 32"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := quern(t, "", nil, append(append([]string{"transcribe", "--model", ear}, tt.args...), talk)...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			has(t, "stdout", out, tt.out)
			has(t, "stderr", errs, tt.errs)
		})
	}
}
