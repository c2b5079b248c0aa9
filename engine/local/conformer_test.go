package local

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/asr/audio"
)

// A Parakeet is found in a folder of models, in either layout, and writes down what its
// goldens say; what it cannot do is refused by name.
func TestParakeet(t *testing.T) {
	dir := t.TempDir()
	for _, layout := range []string{"parakeet-sherpa", "parakeet-onnx-asr"} {
		entries, err := os.ReadDir(fixtures.Path(t, "diarise", "models", layout))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range entries {
			data, err := os.ReadFile(fixtures.Path(t, "diarise", "models", layout, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			place(t, dir, layout+"/"+f.Name(), data)
		}
	}
	place(t, dir, "broken/vocab.txt", []byte("a 0\nb 1\n<blk> 2\n"))
	place(t, dir, "broken/encoder-model.onnx", []byte("nothing"))
	place(t, dir, "broken/decoder_joint-model.onnx", []byte("nothing"))
	e := open(t, engine.Options{Dirs: []string{dir}, Models: []engine.ModelOptions{{Name: "by file", Path: filepath.Join(dir, "parakeet-sherpa", "joiner.onnx")}}})
	found := map[string]engine.ModelInfo{}
	for _, m := range e.Models() {
		found[m.ID] = m
	}
	for _, id := range []string{"parakeet-sherpa", "parakeet-onnx-asr", "by file"} {
		if m := found[id]; m.Kind != engine.KindTranscription || m.Architecture != "nemo-conformer-tdt" || m.Format != "onnx" || m.Quantization != "F32" || m.SizeBytes < 200_000 || !m.Undrawn {
			t.Errorf("%s: %+v", id, m)
		}
	}
	if _, there := found["broken"]; there {
		t.Error("a broken model is listed")
	}
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", "pulses.wav"))
	if err != nil {
		t.Fatal(err)
	}
	var samples audio.Samples
	for data = data[44:]; len(data) > 1; data = data[2:] {
		samples = append(samples, float32(int16(binary.LittleEndian.Uint16(data)))/32768)
	}
	for _, id := range []string{"parakeet-sherpa", "parakeet-onnx-asr", "by file"} {
		src, text := samples, ""
		for s, err := range e.Transcribe(t.Context(), id, engine.TranscribeRequest{Source: &src, AllSound: true}) {
			if err != nil {
				t.Fatal(err)
			}
			text += s.Text
		}
		if strings.TrimSpace(text) != "ing grain 2" {
			t.Errorf("%s transcribes %q", id, text)
		}
	}
	warm := 0.5
	for name, r := range map[string]engine.TranscribeRequest{
		"prompt":      {TranscribeOptions: engine.TranscribeOptions{Prompt: "x"}},
		"temperature": {Temperature: &warm},
		"model":       {TranscribeOptions: engine.TranscribeOptions{Translate: true}},
	} {
		src := samples
		r.Source = &src
		for _, err := range e.Transcribe(t.Context(), "parakeet-sherpa", r) {
			var refused *engine.Error
			if !errors.As(err, &refused) || refused.Param != name || len(src) != len(samples) {
				t.Errorf("%s: %v, %d samples read", name, err, len(samples)-len(src))
			}
		}
	}
}
