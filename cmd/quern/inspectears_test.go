package main

import (
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
)

// inspect describes the graphs of a Parakeet together, by its folder or any of its files;
// bench measures it, and transcribe uses it.
func TestParakeet(t *testing.T) {
	for _, layout := range []string{"sherpa", "onnx-asr"} {
		dir := fixtures.Path(t, "diarise", "models", "parakeet-"+layout)
		for _, path := range []string{dir, filepath.Join(dir, map[string]string{"sherpa": "joiner.onnx", "onnx-asr": "vocab.txt"}[layout])} {
			code, out, errs := quern(t, "", nil, "inspect", path)
			if code != 0 {
				t.Fatalf("%s: %s", path, errs)
			}
			has(t, path, out, []string{"nemo-conformer-tdt, " + layout, "TDT, 33 tokens, 5 durations", "128 bands, normalised by band", "positions for 9.6 s", "as a model for transcription"})
			if _, out, _ = quern(t, "", nil, "inspect", "--json", path); !strings.Contains(out, `"durations":5`) && !strings.Contains(out, `"durations": 5`) {
				t.Errorf("%s", out)
			}
		}
	}
	dir := fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr")
	code, out, errs := quern(t, "", nil, "bench", dir, "--tg", "8", "--reps", "1", "--json")
	if code != 0 || !strings.Contains(out, `"real_time_factor"`) || !strings.Contains(out, "9.6") {
		t.Errorf("bench: %s %s", out, errs)
	}
	wav := fixtures.Path(t, "diarise", "signals", "pulses.wav")
	if code, out, errs = quern(t, "", nil, "transcribe", "--model", dir, "--chunked", "--without", "vad", wav); code != 0 || out != "ing grain 2\n" {
		t.Errorf("transcribe: %d %q %s", code, out, errs)
	}
	if code, _, errs = quern(t, "", nil, "transcribe", "--model", dir, "--to", "de", wav); code == 0 || !strings.Contains(errs, "does not translate") {
		t.Errorf("transcribe --to: %d %s", code, errs)
	}
}
