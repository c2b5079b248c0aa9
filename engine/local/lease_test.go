package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"weak"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/token"
)

// TestOneLookup: a request looks its model up once, whatever it then does, and reads
// no file of a model that is loaded: the files are gone by then.
func TestOneLookup(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.gguf"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Dirs: []string{dir}})
	held, err := e.Open(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m", engine.VoiceName} {
		before := e.catalog.Lookups()
		l, err := e.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		l.Info()
		l.Defaults()
		if name == engine.VoiceName {
			if err := l.CheckVoice("alloy", ""); err != nil {
				t.Error(err)
			}
			for _, err := range l.Speak(t.Context(), engine.SpeakRequest{Text: "Hi.", Voice: "alloy"}) {
				if err != nil {
					t.Error(err)
				}
			}
		} else {
			for _, err := range l.Generate(t.Context(), engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, MaxTokens: 1}) {
				if err != nil {
					t.Error(err)
				}
			}
			if _, err := l.Tokenize(t.Context(), engine.TokenizeRequest{Prompt: engine.Prompt{Text: "x"}}); err != nil {
				t.Error(err)
			}
			if _, err := l.Embed(t.Context(), engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "x"}}}); err != nil {
				t.Error(err)
			}
		}
		l.Release()
		if n := e.catalog.Lookups() - before; n != 1 {
			t.Errorf("%s: %d lookups, want 1", name, n)
		}
	}
}

// TestLeaseOutlivesRelease: an action under way keeps its model though the lease has
// been released, and another cannot begin.
func TestLeaseOutlivesRelease(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: small}}})
	l, err := e.Open(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for ev, err := range l.Generate(ctx, engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, MaxTokens: 3, IgnoreEOS: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type != engine.Admitted {
			continue
		}
		l.Release()
		l.Release()
		if err := e.Unload("m"); err == nil {
			t.Error("the model was unloaded under a generation")
		}
	}
	var known *engine.Error
	if _, err := l.Tokenize(t.Context(), engine.TokenizeRequest{}); !errors.As(err, &known) {
		t.Errorf("a released lease answers: %v", err)
	}
	if err := e.Unload("m"); err != nil {
		t.Errorf("after the generation: %v", err)
	}
}

// TestLeaseRefuses: what a model cannot do is refused by name.
func TestLeaseRefuses(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: small}}})
	var known *engine.Error
	if _, err := e.Open(t.Context(), "m", engine.KindSpeech); !errors.As(err, &known) || known.Code != engine.CodeModelNotSupported {
		t.Errorf("opened for speech: %v", err)
	}
	l, err := e.Open(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if err := l.CheckVoice("alloy", ""); !errors.As(err, &known) || known.Code != engine.CodeModelNotSupported {
		t.Errorf("it has a voice: %v", err)
	}
	for _, err := range l.Transcribe(t.Context(), engine.TranscribeRequest{}) {
		if !errors.As(err, &known) || known.Code != engine.CodeModelNotSupported {
			t.Errorf("it listens: %v", err)
		}
	}
}

// TestPromptIsForgotten: while an answer is made nothing holds the messages it was asked
// with, whose share of what bodies may take has been given back.
func TestPromptIsForgotten(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: small, ChatTemplate: "{{ messages[0].content }}"}}})
	l, err := e.Open(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	var messages weak.Pointer[chat.Message]
	var tokens weak.Pointer[token.ID]
	for _, ask := range []func() engine.Prompt{
		func() engine.Prompt {
			list := []chat.Message{{Role: chat.RoleUser, Text: "x"}}
			messages = weak.Make(&list[0])
			return engine.Prompt{Messages: list}
		},
		func() engine.Prompt {
			list := make([]token.ID, 100) // too large to share a block of the allocator
			tokens = weak.Make(&list[0])
			return engine.Prompt{Tokens: list}
		},
	} {
		looks := 0
		for ev, err := range l.Generate(t.Context(), engine.GenerateRequest{Prompt: ask(), MaxTokens: 2, IgnoreEOS: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type != engine.PromptDone {
				continue
			}
			looks++
			runtime.GC()
			if messages.Value() != nil || tokens.Value() != nil {
				t.Error("the prompt is in memory while its answer is made")
			}
		}
		if looks != 1 {
			t.Errorf("looked %d times", looks)
		}
	}
}
