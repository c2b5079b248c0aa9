package lm

import (
	"os"
	"path/filepath"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/graph"
	"quern/engine/kv/disk"
	"quern/engine/kv/disk/disktest"
	"quern/kernels/quant"
)

// TestRoots: whatever bits of keys and values depend on makes another root, among it the CPU
// level that the backend names, and nothing else does.
func TestRoots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, builtin.GGUF(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := disk.Open(disk.Options{Dir: "cache", Size: 1 << 20, FS: disktest.New(".")})
	defer s.Close()
	type what struct {
		o                        engine.ModelOptions
		stamp, program, numerics string
		spec                     graph.CacheSpec
		change                   func(m *File)
	}
	root := func(w what) disk.Key {
		t.Helper()
		m := &File{}
		defer m.Close()
		var err error
		if m.Raw, err = Open(path); err != nil {
			t.Fatal(err)
		}
		if err = m.Open(t.Context(), w.o, 1); err != nil {
			t.Fatal(err)
		}
		if err = m.Set.Fill(); err != nil {
			t.Fatal(err)
		}
		if w.change != nil {
			w.change(m)
		}
		sum, err := m.Hash(t.Context(), s, w.stamp, w.program)
		if err != nil {
			t.Fatal(err)
		}
		roots, err := m.Roots(t.Context(), sum, w.program, w.numerics, &w.spec)
		if err != nil || len(roots) != 1 {
			t.Fatalf("%d roots, %v", len(roots), err)
		}
		return roots[0]
	}
	same := what{stamp: "s", program: "p", numerics: "amd64 avx512", spec: graph.CacheSpec{BlockSize: 32, Type: quant.F16, Layers: graph.Alike(4, 4, 32)}}
	want := root(same)
	seen := map[disk.Key]string{want: "the first"}
	for name, change := range map[string]func(w *what){
		"program":        func(w *what) { w.program = "q" },
		"numerics":       func(w *what) { w.numerics = "amd64 avx2" },
		"cache type":     func(w *what) { w.spec.Type = quant.Q8_0 },
		"block size":     func(w *what) { w.spec.BlockSize = 16 },
		"layers":         func(w *what) { w.spec.Layers = graph.Alike(4, 2, 64) },
		"context length": func(w *what) { w.o.ContextLength = 100 },
		"a window":       func(w *what) { w.spec.Near = []graph.Near{{Reach: graph.Reach{Window: 8}}} },
		"metadata":       func(w *what) { w.change = func(m *File) { m.Set.Meta.Set("llama.rope.freq_base", 20000.0) } },
		"a byte": func(w *what) {
			w.stamp = "written over"
			w.change = func(m *File) {
				for x := range m.Set.All() {
					x.Data = append([]byte(nil), x.Data...)
					x.Data[len(x.Data)/2]++
					return
				}
			}
		},
	} {
		w := same
		change(&w)
		k := root(w)
		if was, ok := seen[k]; ok {
			t.Errorf("with another %s the root is that of %s", name, was)
		}
		seen[k] = name
	}
	for name, change := range map[string]func(w *what){
		"nothing":                      func(w *what) {},
		"stamp":                        func(w *what) { w.stamp = "t" },
		"stamp that is not told":       func(w *what) { w.stamp = "" },
		"number of blocks":             func(w *what) { w.spec.Blocks = 7 },
		"number of blocks of a window": func(w *what) { w.spec.Near = nil },
	} {
		w := same
		change(&w)
		if root(w) != want {
			t.Errorf("with another %s the root is another", name)
		}
	}
}

// TestStampFiles: a stamp changes when a file is written, though size and time are set back.
func TestStampFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	first := StampFiles(path)
	if first == "" {
		t.Skip("the system does not tell")
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	folder := StampFiles(dir)
	if again := StampFiles(path); again != first {
		t.Errorf("a file that nothing happened to: %q, then %q", first, again)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if StampFiles(path) != "" {
		t.Error("a file that is not there has a stamp")
	}
	put("two")
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if StampFiles(path) == first || StampFiles(dir) == folder {
		t.Error("a file that was replaced has the stamp it had")
	}
}

func TestProgram(t *testing.T) {
	a, err := Program()
	b, err2 := Program()
	if err != nil || err2 != nil || len(a) != 32 || a != b {
		t.Errorf("%x, %x, %v, %v", a, b, err, err2)
	}
}
