package local

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"quern/engine"
)

// TestOverwritten: a loaded model whose file is written over in place, as cp and curl do, is loaded
// again by the next request: what was mapped of it is other bytes, and none behind its new end.
func TestOverwritten(t *testing.T) {
	first, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile("../model/testdata/smollm2-Q4_K_M.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"configured", "found in a folder"} {
		t.Run(how, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			write := func(data []byte) {
				if err := os.WriteFile(path, data, 0o600); err != nil { // truncates the file, and writes it
					t.Fatal(err)
				}
			}
			write(first)
			o := engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: path}}}
			if how != "configured" {
				o = engine.Options{Dirs: []string{filepath.Dir(path)}}
			}
			e := open(t, o)
			ask := func() (fingerprint string, err error) {
				l, err := e.Open(t.Context(), "m")
				if err != nil {
					return "", err
				}
				defer l.Release()
				for _, err := range l.Generate(t.Context(), engine.GenerateRequest{Prompt: engine.Prompt{Text: "Once"}, MaxTokens: 3}) {
					if err != nil {
						return "", err
					}
				}
				return l.Info().Fingerprint, nil
			}
			was, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			write(nil)
			if _, err := ask(); err == nil {
				t.Error("an empty file answers")
			}
			write(second)
			is, err := ask()
			if err != nil || is == was {
				t.Errorf("afterwards: model %s as before it was written over (%s), %v", is, was, err)
			}

			held, err := e.Open(t.Context(), "m")
			if err != nil {
				t.Fatal(err)
			}
			write(first)
			var known *engine.Error
			if _, err := e.Open(t.Context(), "m"); !errors.As(err, &known) || known.Code != engine.CodeModelLoading {
				t.Errorf("while a request has what was loaded: %v", err)
			}
			held.Release()
			if is, err := ask(); err != nil || is != was {
				t.Errorf("after that request: model %s, want %s; %v", is, was, err)
			}
		})
	}
}

// TestCutShort: a file that is cut short while its model computes ends the requests in work with an
// error, not the process; and the model is loaded again when the file is whole again.
func TestCutShort(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("files are not mapped, or cannot be cut short while they are")
	}
	data, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: path}}, InFileOrder: true})
	ask := func(begun func()) error {
		l, err := e.Open(t.Context(), "m")
		if err != nil {
			return err
		}
		defer l.Release()
		for _, err := range l.Generate(t.Context(), engine.GenerateRequest{Prompt: engine.Prompt{Text: "Once"}, MaxTokens: 100, IgnoreEOS: true}) {
			if err != nil {
				return err
			}
			begun()
		}
		return nil
	}
	if err := ask(func() {}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := ask(func() { os.Truncate(path, 0) }); err == nil {
			t.Error("a reply came of a model without its file")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ask(func() {}); err != nil {
			t.Errorf("the file is whole again: %v", err)
		}
	}
}
