package local

import (
	"slices"
	"strings"
	"testing"
	"time"

	"quern/engine"
)

// TestSpeculation: the built-in model answers the same with drafts, with predictions that are
// right or not, and without; steps are saved where a text repeats or was foreseen.
func TestSpeculation(t *testing.T) {
	off := open(t, engine.Options{Defaulted: engine.ModelOptions{Speculation: engine.SpeculationOff}})
	on := open(t, engine.Options{})
	list := engine.Prompt{Text: strings.Repeat("One day, a little girl named Lily found a red ball in the park. ", 3)}
	for _, tt := range []struct {
		name string
		r    engine.GenerateRequest
	}{
		{"greedy", engine.GenerateRequest{Prompt: list, MaxTokens: 200, IgnoreEOS: true}},
		{"at random", engine.GenerateRequest{Prompt: list, MaxTokens: 80, N: 3}},
		{"log-probabilities", engine.GenerateRequest{Prompt: list, MaxTokens: 60}},
		{"a form", engine.GenerateRequest{Prompt: user("Describe a place."), MaxTokens: 100, Constraint: schemaOf(bounded[0])}},
		{"stop strings", engine.GenerateRequest{Prompt: list, MaxTokens: 100, Stop: []string{"ball"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Sample.Logprobs = tt.name == "log-probabilities"
			if tt.r.N > 1 {
				tt.r.Sample.Temperature, tt.r.Sample.Seed = 0.3, 7
			}
			want, err := gather(t.Context(), off, "", tt.r)
			if err != nil {
				t.Fatal(err)
			}
			for _, prediction := range []string{"", want.text[0], "Nothing of the kind. " + want.text[0]} {
				tt.r.Prediction = prediction
				got, err := gather(t.Context(), on, "", tt.r)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want.text {
					if got.text[i] != want.text[i] || got.reason[i] != want.reason[i] {
						t.Errorf("prediction %.20q: %q, %s; want %q, %s", prediction, got.text[i], got.reason[i], want.text[i], want.reason[i])
					}
				}
				if got.done.OutputTokens != want.done.OutputTokens {
					t.Errorf("%d tokens, want %d", got.done.OutputTokens, want.done.OutputTokens)
				}
				if told := got.done.Predicted + got.done.Unpredicted; prediction == "" && told > 0 || tt.name == "greedy" && prediction == want.text[0] && told == 0 { // however slow the machine is, drafts are tried
					t.Errorf("%d predicted tokens came so, %d did not", got.done.Predicted, got.done.Unpredicted)
				}
			}
		})
	}
	if s := off.Stats().Models[0]; s.Drafts > 0 || len(s.AcceptedAt) > 0 {
		t.Errorf("%d drafts where they are off", s.Drafts)
	}
	s := on.Stats().Models[0]
	if s.AcceptedTokens == 0 || s.DraftTokens < s.AcceptedTokens || len(s.AcceptedAt) != engine.DefaultDraftTokens || s.AcceptedAt[0] == 0 {
		t.Errorf("%d of %d drafted tokens came, by place %v", s.AcceptedTokens, s.DraftTokens, s.AcceptedAt)
	}
}

// TestDraftModel: a model drafts for another whatever becomes of it as one that is served, and
// its memory is planned for. What cannot draft is refused, with what to change.
func TestDraftModel(t *testing.T) {
	const tiny, other, states = "../builtin/quern-tiny.gguf", "../model/testdata/llama-Q4_K_M.gguf", "../model/testdata/families/qwen35-Q4_0.gguf"
	named := engine.ModelOptions{Name: "small", Path: tiny}
	e := open(t, engine.Options{Models: []engine.ModelOptions{named,
		{Name: "big", Path: tiny, Speculation: engine.SpeculationDraft, Draft: "small"},
		{Name: "plain", Path: tiny, Speculation: engine.SpeculationOff},
	}})
	r := engine.GenerateRequest{Prompt: user("Tell me a story."), MaxTokens: 60, N: 2}
	want, err := gather(t.Context(), e, "plain", r)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time without the model under its own name
		got, err := gather(t.Context(), e, "big", r)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.text, want.text) {
			t.Errorf("%q, want %q", got.text, want.text)
		}
		if _, err := gather(t.Context(), e, "small", r); err != nil {
			t.Fatal(err)
		}
		gone := time.Duration(0)
		last := r
		last.KeepAlive = &gone
		if _, err := gather(t.Context(), e, "small", last); err != nil {
			t.Fatal(err)
		}
	}
	var big, plain engine.ModelStats
	for _, s := range e.Stats().Models {
		switch s.Model {
		case "big":
			big = s
		case "plain":
			plain = s
		}
	}
	if big.AcceptedTokens == 0 || big.WeightBytes != 2*plain.WeightBytes || big.CacheBytes != 2*plain.CacheBytes {
		t.Errorf("%d drafted tokens came; %d bytes of weights and %d of cache, without drafts %d and %d",
			big.AcceptedTokens, big.WeightBytes, big.CacheBytes, plain.WeightBytes, plain.CacheBytes)
	}
	for _, tt := range []struct {
		name  string
		draft string
		limit int64
		says  []string
	}{
		{"nothing to draft with", "", 0, []string{`"x"`, "speculation: draft needs draft"}},
		{"no such model", "nowhere.gguf", 0, []string{`"nowhere.gguf"`, "neither a model nor a file"}},
		{"another vocabulary", other, 0, []string{other, "vocabulary"}},
		{"states", states, 0, []string{states, "carry states"}},
		{"what embeds", "../model/testdata/modern-bert.gguf", 0, []string{"modern-bert", "makes no text"}},
		{"no room", tiny, 14 << 20, []string{"memory_limit", "draft", "speculation: lookup would fit"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, engine.Options{MemoryLimit: tt.limit, Models: []engine.ModelOptions{
				{Name: "x", Path: tiny, ContextLength: 256, Speculation: engine.SpeculationDraft, Draft: tt.draft}}})
			_, err := gather(t.Context(), e, "x", r)
			for _, says := range tt.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v does not say %q", err, says)
				}
			}
		})
	}
}
