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
		{"cut silence", []string{file("quiet-cut.wav", silence[:head+2*second])}, 1, false, []string{"quiet-cut.wav: the audio is cut short: 2.0 s could be read of 11.0 s; nothing is said in what could be read"}},
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
// the text so far of a piece may be printed too.
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
	if code, _, errs := quern(t, "this is no sound", nil, "transcribe", "--live", "--model", model, "-"); code != 1 || !strings.Contains(errs, "a text file, and no sound: not supported") {
		t.Errorf("a text: exit code %d, %q", code, errs)
	}
}

// With --speakers lines say who speaks; files that do not fit, and numbers, are refused.
func TestTranscribeSpeakers(t *testing.T) {
	file := func(name ...string) string { return fixtures.Path(t, append([]string{"diarise"}, name...)...) }
	segmentation, embedding := file("models", "pyannote-seg-bands.onnx"), file("models", "wespeaker-emb-bands.onnx")
	ear, talk := file("models", "parakeet-onnx-asr"), file("signals", "talk.wav")
	networks := []string{"--segmentation", segmentation, "--embedding", embedding}
	// From 4 to 6.7 s only the second speaker is heard.
	sound, err := os.ReadFile(talk)
	if err != nil {
		t.Fatal(err)
	}
	const second, head = 2 * 16000, 44
	bea, short := filepath.Join(t.TempDir(), "bea.wav"), filepath.Join(t.TempDir(), "short.wav")
	write(t, bea, string(sound[:head])+string(sound[head+4*second:head+67*second/10]))
	write(t, short, string(sound[:head])+string(sound[head+4*second:head+5*second]))
	for _, tt := range []struct {
		name      string
		args      []string
		code      int
		out, errs []string
	}{
		{"text", append([]string{"--speakers"}, networks...), 0, []string{"[SPEAKER_00]: ", "[SPEAKER_03]: "}, nil},
		{"whisperx", append([]string{"--speakers", "--format", "whisperx", "--num-speakers", "2"}, networks...), 0, []string{`"speaker":"SPEAKER_01"`, `"word_segments"`}, nil},
		{"a known speaker", append([]string{"--speakers", "--known-speaker", "Bea=" + bea}, networks...), 0, []string{"[SPEAKER_00]: ", "[Bea]: "}, nil},
		{"a known speaker without --speakers", append([]string{"--known-speaker", "Bea=" + bea}, networks...), 2, nil, []string{"--known-speaker needs --speakers"}},
		{"a known speaker without a file", append([]string{"--speakers", "--known-speaker", "Bea"}, networks...), 2, nil, []string{"must be NAME=FILE", "Bea"}},
		{"a known speaker twice", append([]string{"--speakers", "--known-speaker", "Bea=" + bea, "--known-speaker", "Bea=" + bea}, networks...), 2, nil, []string{"given twice"}},
		{"a known speaker of a second", append([]string{"--speakers", "--known-speaker", "Bea=" + short}, networks...), 1, nil, []string{"short.wav", "2 to 10 seconds"}},
		{"no networks", []string{"--speakers"}, 1, nil, []string{"cannot tell who speaks", "segmentation"}},
		{"one network", []string{"--speakers", "--segmentation", segmentation}, 2, nil, []string{"embedding"}},
		{"changed about", []string{"--speakers", "--segmentation", embedding, "--embedding", segmentation}, 2, nil, []string{"--segmentation", "pyannote"}},
		{"a number alone", append([]string{"--num-speakers", "2"}, networks...), 2, nil, []string{"--num-speakers needs --speakers"}},
		{"none", append([]string{"--speakers", "--num-speakers", "0"}, networks...), 2, nil, []string{"between 1 and 32, got 0"}},
		{"at least", append([]string{"--speakers", "--min-speakers", "2", "--max-speakers", "2"}, networks...), 0, []string{"[SPEAKER_01]: "}, nil},
		{"at most", append([]string{"--speakers", "--max-speakers", "1", "--format", "whisperx"}, networks...), 0, []string{`"speaker":"SPEAKER_00"`}, nil},
		{"a bound alone", append([]string{"--max-speakers", "2"}, networks...), 2, nil, []string{"--max-speakers needs --speakers"}},
		{"a bound beside a number", append([]string{"--speakers", "--num-speakers", "2", "--min-speakers", "1"}, networks...), 2, nil, []string{"leave --min-speakers out"}},
		{"bounds the wrong way about", append([]string{"--speakers", "--min-speakers", "3", "--max-speakers", "2"}, networks...), 2, nil, []string{"got 3 and 2"}},
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

// --live writes down sound that comes through a pipe with a Parakeet, as with a Whisper.
func TestTranscribeLiveParakeet(t *testing.T) {
	ear := fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr")
	sound, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", "talk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := quern(t, string(sound[:44+10*2*16000]), nil, "transcribe", "--model", ear, "--live", "--format", "json", "-")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	// How many guesses there are before the last line depends on how fast the machine is.
	if last := lines[len(lines)-1]; code != 0 || !strings.Contains(last, `"final":true`) || !strings.Contains(last, "stone") {
		t.Errorf("exit code %d, %d lines, %s", code, len(lines), errs)
	}
	before := 0.0
	for _, line := range lines {
		var u struct{ Start, End, Seconds float64 }
		if err := json.Unmarshal([]byte(line), &u); err != nil || u.Seconds < before || u.End > u.Seconds+0.2 {
			t.Fatalf("%s: %v", line, err)
		}
		before = u.Seconds
	}
}
