package sched_test

import (
	"slices"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/model"
	"quern/engine/sample"
	"quern/formats/gguf"
)

// TestWindows: replies of a model whose layers see windows or chunks do not depend on blocks
// being given back behind these, to the bit of every log-probability: 64 sequences with
// preemption reply as one request after the other in a cache that keeps all.
func TestWindows(t *testing.T) {
	for _, tt := range []struct {
		path  []string // below shared/fixtures; one is in testdata
		see   int
		chunk int // what the file leaves to a constant
	}{
		{path: []string{"../model/testdata/families/olmo3-Q4_0.gguf"}, see: 16},
		{path: []string{"../model/testdata/families/cohere2-Q4_0.gguf"}, see: 16},
		{path: []string{"../model/testdata/gpt-oss.gguf"}, see: 8},
		{path: []string{"llm", "gemma3", "model.gguf"}, see: 16},
		{path: []string{"families", "llama4", "model.gguf"}, see: 16, chunk: 16},
		{path: []string{"families", "gemma4-e", "model.gguf"}, see: 16}, // whose last layers look at the keys of others
	} {
		name := tt.path[len(tt.path)-1]
		if len(tt.path) > 1 {
			name = tt.path[1]
		}
		t.Run(name, func(t *testing.T) {
			path := tt.path[0]
			if len(tt.path) > 1 {
				path = fixtures.Path(t, tt.path...)
			}
			set, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if tt.chunk > 0 {
				set.Meta.Set("llama4.attention.chunk_size", int64(tt.chunk))
			}
			lm, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			const blocks, size, slots = 40, 4, 6
			held := (tt.see+size-2)/size + 1
			alone, _ := replies(t, lm, 32, 400, 0, size, 1)
			together, s := replies(t, lm, 32, blocks, 2*held+1, size, slots)
			if s.Preemptions == 0 {
				t.Error("no preemptions")
			}
			for i := range alone {
				if !slices.EqualFunc(alone[i], together[i], func(a, b sample.Token) bool { return a.ID == b.ID && a.Logprob == b.Logprob }) {
					t.Errorf("reply %d is %v alone and %v in company", i, alone[i], together[i])
				}
			}
		})
	}
}
