package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/internal/stat"
	"quern/codecs"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/cpu"
	"quern/kernels/quant"
)

// nano is small enough to write often.
var nano = shapes[0]

// Files of every kind load, hold the same weights and transcribe; the same seed
// gives the same bytes.
func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	backend := cpu.Open(1)
	defer backend.Close()
	var first []asr.Segment
	for _, tt := range []struct {
		name, typ string
		hf, like  bool // like the first one
	}{
		{"f32.bin", "F32", false, true},
		{"hf", "F32", true, true},
		{"f16.bin", "F16", false, false},
		{"q8_0.bin", "Q8_0", false, false},
		{"q5_1.bin", "q5_1", false, false},
	} {
		path := filepath.Join(dir, tt.name)
		if err := generate(path, nano, tt.typ, 1, tt.hf); err != nil {
			t.Fatal(err)
		}
		m, err := asr.Open(t.Context(), path, backend, asr.OpenOptions{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		noise := make(audio.Samples, 3*audio.Rate)
		for i := range noise {
			noise[i] = float32(math.Sin(float64(i)*float64(i%977))) * 0.2
		}
		var list []asr.Segment
		for s, err := range m.Transcribe(context.Background(), &noise, asr.Options{
			Language: "en", NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 8, Without: asr.NoGuards, Prompt: "a cat",
		}) {
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			list = append(list, s)
		}
		m.Close()
		if len(list) == 0 || len(list[0].Tokens) == 0 {
			t.Fatalf("%s says nothing", tt.name)
		}
		if first == nil {
			first = list
		}
		if tt.like && !slices.Equal(list[0].Tokens, first[0].Tokens) {
			t.Errorf("%s says %v, the first file %v", tt.name, list[0].Tokens, first[0].Tokens)
		}
	}
	again := filepath.Join(dir, "again.bin")
	other := filepath.Join(dir, "other.bin")
	if err := generate(again, nano, "F16", 1, false); err != nil {
		t.Fatal(err)
	}
	if err := generate(other, nano, "F16", 2, false); err != nil {
		t.Fatal(err)
	}
	a, b, c := read(t, filepath.Join(dir, "f16.bin")), read(t, again), read(t, other)
	if !bytes.Equal(a, b) || bytes.Equal(a, c) || len(a) != len(c) {
		t.Error("bytes do not depend on the seed alone")
	}
}

func read(t *testing.T, path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Matrices have the deviation that keeps activations in range.
func TestWeights(t *testing.T) {
	list := nano.tensors()
	names := map[string]bool{}
	for i := range list {
		w := &list[i]
		if names[w.openAI] || names[w.huggingFace] {
			t.Errorf("%s occurs twice", w.openAI)
		}
		names[w.openAI], names[w.huggingFace] = true, true
		if !w.matrix || strings.Contains(w.openAI, "embedding") {
			continue
		}
		sum := 0.0
		x := w.floats(1)
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		if got, want := math.Sqrt(sum/float64(len(x))), 1/math.Sqrt(float64(w.shape[1])); math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: deviation %g, want %g", w.openAI, got, want)
		}
	}
	if typ := list[0].numberType(quant.Q8_0); typ != quant.F32 {
		t.Errorf("positions are %v", typ)
	}
}

func TestVocabulary(t *testing.T) {
	v := vocabulary()
	seen := map[string]bool{}
	for i, s := range v {
		if seen[s] {
			t.Fatalf("%q occurs twice", s)
		}
		seen[s] = true
		if i >= 256 && (!seen[s[:len(s)-1]] || !seen[s[len(s)-1:]]) {
			t.Fatalf("%q comes before its parts", s)
		}
	}
	if len(v) != plainSize || len(specialTokens()) != vocabSize-plainSize {
		t.Errorf("%d tokens and %d special ones", len(v), len(specialTokens()))
	}
	if got := spell("a \n\x7f\xadé"); got != "aĠĊġŃÃ©" {
		t.Errorf("spelled %q", got)
	}
}

// The stream of an hour is a WAV file that speaks and is silent by turns.
func TestTalk(t *testing.T) {
	talk, err := newTalk(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := codecs.Open(talk, codecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mono, err := codecs.NewMono(sound, audio.Rate)
	if err != nil {
		t.Fatal(err)
	}
	n, loud, quiet := 0, 0, 0
	buf := make([]float32, 1600)
	for {
		k, err := mono.Read(buf)
		if k == len(buf) {
			sum := 0.0
			for _, v := range buf {
				sum += float64(v) * float64(v)
			}
			if math.Sqrt(sum/float64(k)) > 0.01 {
				loud++
			} else {
				quiet++
			}
		}
		n += k
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if math.Abs(float64(n)/audio.Rate-60) > 0.1 || loud < 100 || quiet < 60 {
		t.Errorf("%.2f s, %d tenths of a second loud, %d quiet", float64(n)/audio.Rate, loud, quiet)
	}
}

func TestMeasure(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	m, err := measure(t.Context(), []string{sh, "-c", `echo '{"encode_ms": 2, "token_ms": 1, "version": "v"}'`})
	if err != nil || m.Encode != 2 || m.Token != 1 || m.Version != "v" {
		t.Errorf("%+v, %v", m, err)
	}
	for name, script := range map[string]string{"oh no": "echo oh no >&2; exit 3", "measured nothing": "echo '{}'", `"hello`: "echo hello"} {
		if _, err := measure(t.Context(), []string{sh, "-c", script}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", script, err)
		}
	}
	if v := stat.Values([]measurement{{Encode: 3}, {Encode: 1}, {Encode: 2}}, func(m measurement) float64 { return m.Encode }); stat.Median(v) != 2 || cells(v) != "2.00 | 1.00 to 3.00" {
		t.Errorf("values %v, cells %s", v, cells(v))
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	path := filepath.Join(t.TempDir(), "m.bin")
	if err := run(t.Context(), []string{"gen", "-shape", "nano", "-o", path}, &out); err != nil || !strings.Contains(out.String(), "nano F16") {
		t.Errorf("%q, %v", out.String(), err)
	}
	for _, args := range [][]string{
		{}, {"sing"}, {"gen"}, {"gen", "-o", path, "rest"}, {"gen", "-shape", "huge", "-o", path}, {"gen", "-shape", "nano", "-type", "Q3", "-o", path},
		{"gen", "-shape", "nano", "-type", "Q8_0", "-hf", "-o", path}, {"compare"}, {"compare", "-peer", "x"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("run(%q): no error", args)
		}
	}
}
