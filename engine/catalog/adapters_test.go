package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quern/engine"
)

// Names with adapters, also of models whose own ids have colons.
func TestAdapters(t *testing.T) {
	adapters := []engine.Adapter{{Name: "sql", Path: "x/sql.gguf"}, {Name: "Tone"}}
	o := engine.Options{
		Models: []engine.ModelOptions{
			{Name: "base", Path: "there", Adapters: adapters}, {Name: "m:Q4_K_M", Path: "there", Adapters: adapters[:1]},
			{Name: "plain", Path: "there"}, {Name: "base:taken", Path: "there"},
		},
		Aliases:  map[string]string{"tuned": "base:sql", "other": "base"},
		Defaults: map[engine.Kind]string{engine.KindChat: "base:Tone"},
	}
	c, err := New(Options{Options: o, Kinds: &counted{looks: map[string]int{}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"base": "base", "base:sql": "base:sql", "base:Tone": "base:Tone", "BASE:tone": "base:Tone", "other:sql": "base:sql", "tuned": "base:sql",
		"m:Q4_K_M:sql": "m:Q4_K_M:sql", "m:sql": "m:Q4_K_M:sql", "m": "m:Q4_K_M", "base:taken": "base:taken", "": "base:Tone",
	} {
		r, err := c.Lookup(name, engine.KindChat)
		if err != nil || r.Called() != want || r.Info().ID != want {
			t.Errorf("%q means %v, %v, want %s", name, r, err, want)
		}
		if base := r.Info().Base; err == nil && (base != "") != (r.Adapter > 0) {
			t.Errorf("%q has the base %q", name, base)
		}
	}
	if r, _ := c.Exactly("base:sql"); r.Info().Base != "base" || r.Info().Adapter != "sql.gguf" {
		t.Errorf("%+v", r.Info())
	}
	for name, want := range map[string]string{
		"base:gone":                    `model "base" has no adapter "gone"; it has sql, Tone`,
		"m:gone":                       `model "m:Q4_K_M" has no adapter "gone"; it has sql`,
		"plain:sql":                    `model "plain:sql" does not exist; there is plain`,
		"tuned:sql":                    `model "tuned:sql" does not exist`,
		strings.Repeat("base:", 1<<16): "does not exist",
	} {
		_, err := c.Lookup(name, engine.KindChat)
		var known *engine.Error
		if !errors.As(err, &known) || known.Code != engine.CodeModelNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", name, err, want)
		}
	}
	if _, err := c.Lookup("base:sql", engine.KindSpeech); err == nil {
		t.Error("an adapter of a chat model speaks")
	}
}

func TestAdapterNames(t *testing.T) {
	for _, tt := range []struct {
		want  string
		names []string
	}{
		{"", []string{"a", "A.b-c/d_1"}},
		{`an adapter called ""`, []string{""}},
		{`an adapter called "a:b"`, []string{"a:b"}},
		{`an adapter called "a b"`, []string{"a b"}},
		{`an adapter called "aaaa`, []string{strings.Repeat("a", 101)}},
		{`two adapters are called "x"`, []string{"x", "y", "x"}},
		{"257 adapters", slices.Repeat([]string{"x"}, 257)},
	} {
		m := engine.ModelOptions{Name: "base", Path: "there"}
		for _, n := range tt.names {
			m.Adapters = append(m.Adapters, engine.Adapter{Name: n})
		}
		_, err := New(Options{Options: engine.Options{Models: []engine.ModelOptions{m}}, Kinds: &counted{looks: map[string]int{}}})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%.100q: %v, want %q", tt.names, err, tt.want)
		}
	}
}

// A default that is itself a usual name of its kind ends in an error.
func TestDefaultOfUsualName(t *testing.T) {
	o := engine.Options{Models: []engine.ModelOptions{{Name: "a", Path: "there"}}, Defaults: map[engine.Kind]string{engine.KindTranscription: "whisper-1"}}
	c, err := New(Options{Options: o, Kinds: &counted{looks: map[string]int{}}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Lookup("asr-1", engine.KindTranscription); err == nil {
		t.Errorf("found %v", r)
	}
}

// A usual name of a kind that has no default says so, and not that there is no such model.
func TestUsualNameOfNothing(t *testing.T) {
	o := engine.Options{Models: []engine.ModelOptions{{Name: "a", Path: "there"}}}
	c, err := New(Options{Options: o, Kinds: &counted{looks: map[string]int{}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `"whisper-1" means the default transcription model: no transcription model is served`
	if _, err := c.Lookup("whisper-1", engine.KindTranscription); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
