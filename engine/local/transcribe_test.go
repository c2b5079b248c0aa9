package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/asr/audio"
	"quern/engine/measure"
)

// A recogniser whose file is broken fails with an error that says so, every time
// it is asked for, and never stops the engine.
func TestCorruptedRecogniser(t *testing.T) {
	dir := t.TempDir()
	whisper := []byte("lmgg")
	for _, n := range []byte{0x99, 0xdc, 4, 4, 4, 4, 4, 4, 4, 4, 80, 1, 80, 201} {
		whisper = append(whisper, n, 0, 0, 0)
	}
	for name, data := range map[string][]byte{
		"magic":    []byte("lmgg"),
		"header":   whisper[:20],
		"filters":  whisper,
		"rubbish":  append([]byte("lmgg"), []byte(strings.Repeat("\xff\x7f", 4000))...),
		"detector": append([]byte("lmgg\x0a\x00\x00\x00silero-16k"), make([]byte, 100)...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".bin")
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "ear", Path: path}}})
			for range 2 {
				n := 0
				for _, err := range e.Transcribe(t.Context(), "ear", engine.TranscribeRequest{Source: new(audio.Samples)}) {
					n++
					var known *engine.Error
					if !errors.As(err, &known) || strings.Contains(known.Message, dir) || !strings.Contains(known.Message, "cannot be loaded: ") || strings.Contains(known.Message, "log") {
						t.Errorf("error %v; want one for clients without paths", err)
					}
				}
				if n != 1 {
					t.Errorf("%d answers, want one error", n)
				}
			}
		})
	}
}

// bench refuses what is no recogniser and measures what is one.
func TestBenchHearing(t *testing.T) {
	path := fixtures.Path(t, "whisper", "ggml-tiny-f16.bin")
	if !measure.IsHearing(path) || measure.IsHearing("hear_test.go") {
		t.Errorf("IsHearing of a recogniser and of a text: %v, %v", measure.IsHearing(path), measure.IsHearing("hear_test.go"))
	}
	done := 0
	r, err := measure.BenchHearing(t.Context(), measure.BenchOptions{Path: path, Threads: 1, Generate: 4, Reps: 2, Batch: 2, Progress: func(int, int) { done++ }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Window != 30 || r.Tokens != 4 || len(r.EncodeRuns) != 2 || len(r.TokenRuns) != 2 || done != 3 || r.Encode <= 0 || r.Token <= 0 || r.Features <= 0 ||
		!(r.RealTime > 0 && r.RealTime < 10) || r.WeightBytes < 1e6 || r.CacheBytes <= 0 {
		t.Errorf("%+v after %d reports", r, done)
	}
	if _, err := measure.BenchHearing(t.Context(), measure.BenchOptions{Path: "hear_test.go", Threads: 1}); err == nil {
		t.Error("a text is measured")
	}
}
