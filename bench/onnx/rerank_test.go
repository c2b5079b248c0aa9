package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"quern/engine"
	"quern/engine/local"
)

// TestReranker has the engine rank documents with the model -reranker writes.
func TestReranker(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reranker")
	if err := writeReranker(dir); err != nil {
		t.Fatal(err)
	}
	e, err := local.New(engine.Options{Models: []engine.ModelOptions{{Name: "r", Path: dir}}, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l, err := e.Open(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	for _, tt := range []struct {
		query string
		docs  []string // best first
	}{
		{"red panda", []string{"the red panda is a mammal", "a panda", "a bicycle", "rain"}},
		{"Where is the Café?", []string{"The cafe is where the road ends.", "where are the tigers", "nothing"}},
		{"route 66", []string{"route 66", "route 67", "a road", ""}},
	} {
		res, err := l.Rerank(t.Context(), engine.RerankRequest{Query: tt.query, Documents: tt.docs})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%q: %.3f", tt.query, res.Scores)
		if !slices.IsSortedFunc(res.Scores, func(a, b float32) int { return cmp.Compare(b, a) }) || res.Scores[0] < 0.9 {
			t.Errorf("%q: scores %v, want them to fall from nearly 1", tt.query, res.Scores)
		}
	}
}
