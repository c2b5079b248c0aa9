package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"quern/engine"
)

// TestNeeds: what a model needs is known before it is loaded, is what loading asks for, and
// says what to change where it does not fit.
func TestNeeds(t *testing.T) {
	const limit = 64 << 20
	e := open(t, engine.Options{MemoryLimit: limit, Builtin: true, Models: []engine.ModelOptions{
		{Name: "fits", Path: small}, {Name: "large", Path: small, CacheBytes: 2 * limit}}})
	before, err := e.Needs(t.Context(), "fits")
	if err != nil || before.Bytes <= 0 || before.Limit != limit || before.Why != nil {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := e.Load(t.Context(), "fits"); err != nil {
		t.Fatal(err)
	}
	if loaded, err := e.Needs(t.Context(), "fits"); err != nil || loaded.Bytes != before.Bytes || loaded.Why != nil {
		t.Errorf("loaded: %+v, %v; before %+v", loaded, err, before)
	}
	var known *engine.Error
	if n, err := e.Needs(t.Context(), "large"); err != nil || n.Bytes <= limit || !errors.As(n.Why, &known) || known.Code != engine.CodeOutOfMemory {
		t.Errorf("%+v, %v", n, err)
	}
	for _, m := range e.Models() {
		if _, err := e.Needs(t.Context(), m.ID); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	if _, err := e.Needs(t.Context(), "absent"); !errors.As(err, &known) || known.Code != engine.CodeModelNotFound {
		t.Errorf("%v", err)
	}
}

// TestRetire: a model of a folder goes out of memory and out of the list with its file;
// others are refused, by any other name than their own too.
func TestRetire(t *testing.T) {
	data, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	file := filepath.Join(store, "o", "n", "m.gguf")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Store: store, Models: []engine.ModelOptions{{Name: "mine", Path: small}}, Aliases: map[string]string{"other": "o/n/m"}})
	remove := func() error { return os.Remove(file) }
	var known *engine.Error
	for id, code := range map[string]engine.Code{"mine": engine.CodeModelNotAllowed, "other": engine.CodeModelNotAllowed, "absent": engine.CodeModelNotFound,
		"O/N/M": engine.CodeModelNotFound, "": engine.CodeModelNotFound, "o/n/../n/m": engine.CodeModelNotFound} {
		if _, err := e.Removable(id); !errors.As(err, &known) || known.Code != code {
			t.Errorf("Removable(%q): %v, want %s", id, err, code)
		}
		if err := e.Retire(id, remove); !errors.As(err, &known) || known.Code != code {
			t.Errorf("Retire(%q): %v, want %s", id, err, code)
		}
	}
	if path, err := e.Removable("o/n/m"); err != nil || path != file {
		t.Errorf("%s, %v", path, err)
	}
	l, err := e.Open(t.Context(), "o/n/m")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := e.described("o/n/m"); err != nil || m.Users != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := e.Retire("o/n/m", remove); !errors.As(err, &known) || known.Code != engine.CodeModelInUse {
		t.Errorf("in use: %v", err)
	}
	l.Release()
	if err := e.Retire("o/n/m", remove); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Find("o/n/m"); !errors.As(err, &known) || known.Code != engine.CodeModelNotFound {
		t.Errorf("after it went: %v", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if id := e.Serves(file); id != "o/n/m" {
		t.Errorf("it came back as %q", id)
	}
	if id := e.Serves(filepath.Join(store, "x")); id != "" {
		t.Errorf("what is not there is %q", id)
	}
}
