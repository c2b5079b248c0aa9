package local

import (
	"os"
	"path/filepath"
	"testing"

	"quern/engine"
)

// TestStatsPlanned: the cache of a model is known before it is loaded, as it is then; and of
// models that need not be loaded at start only the default one's.
func TestStatsPlanned(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "a", Path: small}, {Name: "b", Path: small, Preload: new(true)}, {Name: "c", Path: small}},
		Defaults: map[engine.Kind]string{engine.KindCompletion: "c"}})
	before := e.Stats()
	if len(before.Planned) != 2 || before.Planned[0].Model != "b" || before.Planned[1].Model != "c" || before.Default != "c" {
		t.Fatalf("planned %+v, default %q", before.Planned, before.Default)
	}
	plan, ok := before.Cache()
	if !ok || plan != before.Planned[1] || plan.BlockSize <= 0 || plan.Blocks <= 0 {
		t.Errorf("the default's is %+v, %v", plan, ok)
	}
	if err := e.Load(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	after := e.Stats()
	if got, ok := after.Cache(); !ok || got != plan || len(after.Planned) != 1 || len(after.Models) != 1 {
		t.Errorf("loaded: %+v, %v; planned %+v", got, ok, plan)
	}
}

// TestStatsSound: a voice counts among what runs.
func TestStatsSound(t *testing.T) {
	e := open(t, engine.Options{})
	l, err := e.Open(t.Context(), engine.VoiceName, engine.KindSpeech)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if s := e.Stats(); s.Running() != 0 || s.Waiting() != 0 {
		t.Errorf("before: %+v", s)
	}
	for _, err := range l.Speak(t.Context(), engine.SpeakRequest{Text: "One. Two.", Voice: e.Voices()[0].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if s := e.Stats(); s.Running() != 1 || s.Models[0].Kind != engine.KindSpeech {
			t.Fatalf("meanwhile: %+v", s)
		}
	}
	if s := e.Stats(); s.Running() != 0 {
		t.Errorf("after: %+v", s)
	}
}

// TestStatsUnlisted: a model in memory counts while it is there, also when its file is gone or
// another has taken its name; and each name is there once, as Prometheus needs.
func TestStatsUnlisted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.gguf")
	put := func(more string) {
		t.Helper()
		b, err := os.ReadFile(small)
		if err == nil {
			err = os.WriteFile(file+".new", append(b, more...), 0o600) // a file of its own: the one before is mapped
		}
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("")
	e := open(t, engine.Options{Dirs: []string{dir}})
	var weights int64
	check := func(when string, models int64) {
		t.Helper()
		e.catalog.Changed()
		e.Models() // looks at the folder again
		s := e.Stats()
		if len(s.Models) != 1 || s.Models[0].Model != "m" || models*weights != s.Models[0].WeightBytes && weights != 0 || s.Models[0].WeightBytes == 0 {
			t.Errorf("%s: %+v; want %d models of %d bytes", when, s.Models, models, weights)
			return
		}
		weights = s.Models[0].WeightBytes / models
	}
	for range 2 {
		l, err := e.Open(t.Context(), "m", engine.KindCompletion)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release()
		if weights == 0 {
			check("loaded", 1)
			put("\x00\x00\x00\x00\x00\x00\x00\x00") // another size
			check("replaced", 1)
		}
	}
	check("loaded again", 2)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	check("removed", 2)
}
