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
	e, err := New(engine.Options{Store: store})
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
		if info, err := e.Find(name, engine.KindChat); info.ID != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", name, info.ID, err, want)
		}
	}
}
