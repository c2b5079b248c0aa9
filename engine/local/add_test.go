package local

import (
	"os"
	"path/filepath"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
)

// A model that is added later is listed, found and loaded as one that Options name; what
// is no model is refused and leaves nothing.
func TestAdd(t *testing.T) {
	e, err := New(engine.Options{Builtin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	dir := t.TempDir()
	file, letter := filepath.Join(dir, "file.gguf"), filepath.Join(dir, "letter.gguf")
	for path, b := range map[string][]byte{file: builtin.GGUF(), letter: []byte("Dear reader")} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := len(e.Models())
	info, err := e.Add(engine.ModelOptions{Name: "mine", Path: file})
	if err != nil || info.ID != "mine" || info.Kind != engine.KindChat {
		t.Fatalf("%+v, %v", info, err)
	}
	l, err := e.Open(t.Context(), "mine", engine.KindChat)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	if _, err := e.Add(engine.ModelOptions{Name: "letter", Path: letter}); err == nil {
		t.Error("a letter was added")
	}
	if n := len(e.Models()); n != before+1 {
		t.Errorf("%d models are listed, want %d", n, before+1)
	}
}
