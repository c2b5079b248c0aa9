package catalog

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quern/engine"
)

// newStored makes a catalog of one configured model and a store.
func newStored(t *testing.T, o engine.Options) *Catalog {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	c, err := New(Options{Options: o, Kinds: &counted{looks: map[string]int{}}, BuiltIn: []BuiltIn{{
		ModelOptions: engine.ModelOptions{Name: "inside", Path: "builtin:inside"},
		Needed:       func([]*Entry) bool { return true },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStore: the store need not be there, is read again when it is said to have changed,
// and gives way to what the server was started with.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "later")
	mine := filepath.Join(dir, "mine.gguf")
	write(t, mine, "x")
	c := newStored(t, engine.Options{Store: store, Models: []engine.ModelOptions{{Name: "mine", Path: mine}}, Aliases: map[string]string{"also": "mine"}})
	if got := ids(c); !slices.Equal(got, []string{"mine", "inside"}) {
		t.Fatalf("%v", got)
	}
	write(t, store, "o", "n", "new.gguf", "x")
	c.Changed()
	n, err := c.Lookup("o/n/new")
	if err != nil {
		t.Fatal(err)
	}
	if c.At(n.About().Path) != n.Entry || c.At(filepath.Join(store, "o/n/other.gguf")) != nil {
		t.Error("a model is not found by its path")
	}
	if d, err := c.Lookup("", engine.KindChat); err != nil || d.ID != "mine" {
		t.Errorf("a request without a model means %v, %v", d, err)
	}
	if err := os.Remove(n.About().Path); err != nil {
		t.Fatal(err)
	}
	c.Changed()
	c.Refresh()
	if c.Find("o/n/new") != nil {
		t.Error("what was removed is still listed")
	}
}

// TestStoreAlone: with nothing else, what was pulled is meant by requests that name none.
func TestStoreAlone(t *testing.T) {
	store := t.TempDir()
	write(t, store, "o", "n", "a.gguf", "x")
	c := newStored(t, engine.Options{Store: store})
	if d, err := c.Lookup("", engine.KindChat); err != nil || d.ID != "o/n/a" {
		t.Errorf("%v, %v", d, err)
	}
}

// TestStoreTwice: a store that is a model folder too is listed once, and a model of it that
// the configuration names goes by that name.
func TestStoreTwice(t *testing.T) {
	store := t.TempDir()
	write(t, store, "o", "n", "a.gguf", "x")
	path := filepath.Join(store, "o/n/a.gguf")
	c := newStored(t, engine.Options{Store: store, Dirs: []string{store}})
	if got := ids(c); !slices.Equal(got, []string{"o/n/a", "inside"}) {
		t.Errorf("%v", got)
	}
	c = newStored(t, engine.Options{Store: store, Models: []engine.ModelOptions{{Name: "named", Path: path}}})
	if got := ids(c); !slices.Equal(got, []string{"named", "inside"}) {
		t.Errorf("%v", got)
	}
}

// TestRemovable: what folders hold may go, under all its names; what is named or built in
// may not.
func TestRemovable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "o", "free.gguf", "x")
	write(t, dir, "o", "named.gguf", "x")
	c := newStored(t, engine.Options{Dirs: []string{dir, filepath.Join(dir, "o")}, Models: []engine.ModelOptions{{Name: "one", Path: filepath.Join(dir, "o", "named.gguf")}}})
	if got := ids(c); !slices.Equal(got, []string{"one", "o/free", "o/named", "free", "named", "inside"}) {
		t.Fatalf("%v", got)
	}
	for id, want := range map[string]int{"o/free": 2, "free": 2, "one": 0, "o/named": 0, "named": 0, "inside": 0} {
		at, err := c.Removable(c.Find(id))
		var known *engine.Error
		if len(at) != want || (err == nil) != (want > 0) || err != nil && (!errors.As(err, &known) || known.Code != engine.CodeModelNotAllowed) {
			t.Errorf("%s: %d entries, %v", id, len(at), err)
		}
	}
}
