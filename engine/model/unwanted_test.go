package model_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/kernels/quant"
)

// TestNothingWanted: a step of which no row is wanted, the beginning of a long prompt, leaves
// every family what the next one needs.
func TestNothingWanted(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.gguf", "testdata/families/*.gguf"} {
		list, err := filepath.Glob(pattern)
		if err != nil || len(list) < 7 {
			t.Fatalf("files %v, %v", list, err)
		}
		files = append(files, list...)
	}
	tokens := []int32{5, 9, 2, 30, 7, 7, 31}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".gguf"), func(t *testing.T) {
			set := open(t, path)
			m := openModel(t, set)
			if c := m.Config(); c.Encoder || c.Pooling != model.PoolNone {
				t.Skip("makes embeddings")
			}
			want := newRunner(t, set, quant.F32).feed(tokens, 6)[0]
			r := newRunner(t, set, quant.F32)
			r.feed(tokens[:4])
			if got := r.feed(tokens[4:], 2)[0]; !slices.Equal(got, want) {
				t.Error("other logits behind a step of which nothing was wanted")
			}
		})
	}
}
