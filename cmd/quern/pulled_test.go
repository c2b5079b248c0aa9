package main

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/hub"
	"quern/engine/hub/hubtest"
	"quern/engine/local"
)

// pulled pulls a model of a hub with those files and opens it.
func pulled(t *testing.T, ref string, files map[string][]byte) engine.Lease {
	t.Helper()
	dir := t.TempDir()
	c, err := hub.New(hub.Options{Store: hub.Store{Dir: dir}, Endpoint: hubtest.New(t, files).URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := hub.ParseRef(ref)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan(t.Context(), r, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Fetch(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(engine.Options{Dirs: []string{dir}, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	l, err := e.Open(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

// A model that was pulled answers.
func TestPulledAnswers(t *testing.T) {
	l := pulled(t, "owner/tiny", map[string][]byte{"tiny-F32.gguf": testModel(t)})
	text := ""
	for ev, err := range l.Generate(t.Context(), engine.GenerateRequest{Prompt: engine.Prompt{Text: "hello"}, MaxTokens: 4, IgnoreEOS: true}) {
		if err != nil {
			t.Fatal(err)
		}
		text += ev.Text
	}
	if text == "" {
		t.Error("the model says nothing")
	}
}

// samples is a Source over what a WAV file has behind its header.
type samples []byte

func (s *samples) Read(dst []float32) (n int, err error) {
	for ; n < len(dst) && len(*s) > 1; n++ {
		dst[n] = float32(int16(binary.LittleEndian.Uint16(*s))) / 32768
		*s = (*s)[2:]
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A recogniser that was pulled transcribes, in either layout and number type.
func TestPulledHears(t *testing.T) {
	wav, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", "pulses.wav"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ layout, ref string }{
		{"parakeet-onnx-asr", "o/n"},
		{"parakeet-onnx-asr", "o/n:int8"},
		{"parakeet-sherpa", "o/n:int8"},
	} {
		dir := fixtures.Path(t, "diarise", "models", tt.layout)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = data
			if stem, ok := strings.CutSuffix(e.Name(), ".onnx"); ok {
				files[stem+".int8.onnx"] = data
			}
		}
		sound, text := samples(wav[44:]), ""
		for seg, err := range pulled(t, tt.ref, files).Transcribe(t.Context(), engine.TranscribeRequest{Source: &sound, AllSound: true}) {
			if err != nil {
				t.Fatal(err)
			}
			text += seg.Text
		}
		if text != " ing grain 2" {
			t.Errorf("%s of %s says %q", tt.ref, tt.layout, text)
		}
	}
}

// Models of the store answer to the references that they are pulled by; of several number
// types the one that a pull would take is meant where none is named.
func TestPulledNames(t *testing.T) {
	store := t.TempDir()
	dir := filepath.Join(store, "Own", "Name")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m-Q4_K_M.gguf", "m-Q8_0.gguf"} {
		if err := os.WriteFile(filepath.Join(dir, name), builtin.GGUF(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := local.New(engine.Options{Store: store, Stored: hub.Store{Dir: store}.Named})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, want := range map[string]string{
		"Own/Name":                        "Own/Name/m-Q4_K_M",
		"Own/Name:q8_0":                   "Own/Name/m-Q8_0",
		"Own/Name/m-Q8_0.gguf":            "Own/Name/m-Q8_0",
		"hub:Own/Name:Q8_0":               "Own/Name/m-Q8_0",
		"hf.co/Own/Name:Q4_K_M":           "Own/Name/m-Q4_K_M",
		"Own/Name:Q5_K_M":                 "",
		"Own/Other":                       "",
		"../" + filepath.Base(store):      "",
		"Own/Name/../Name/m-Q8_0.gguf":    "",
		filepath.Join(dir, "m-Q8_0.gguf"): "",
	} {
		id := ""
		m, err := e.Find(name, engine.KindChat)
		if err == nil {
			id = m.Info().ID
		}
		if id != want {
			t.Errorf("%q is %q, %v; want %q", name, id, err, want)
		}
	}
}
