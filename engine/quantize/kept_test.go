package quantize_test

import (
	"context"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/quantize"
	"quern/formats/gguf"
)

// Of every family what llama.cpp keeps as it is is kept here: its own kernels take some
// tensors as F32 only.
func TestKeptAsLlama(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(fixtures.Path(t, "families"), "*", "model-Q8_0.gguf"))
	if err != nil || len(dirs) < 20 {
		t.Fatalf("%d files, %v", len(dirs), err)
	}
	for _, path := range dirs {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			want, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			source, err := gguf.Open(filepath.Join(filepath.Dir(path), "model.gguf"))
			if err != nil {
				t.Fatal(err)
			}
			defer source.Close()
			got, err := quantize.Set(context.Background(), source, "Q8_0", 1)
			if err != nil {
				t.Fatal(err)
			}
			for w := range want.All() {
				if g, ok := got.Tensor(w.Name); !ok || g.Type != w.Type {
					t.Errorf("%s is %v, want %v", w.Name, g.Type, w.Type)
				}
			}
		})
	}
}
