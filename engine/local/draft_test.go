package local

import (
	"strings"
	"testing"

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
		{"greedy", engine.GenerateRequest{Prompt: list, MaxTokens: 150}},
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
				if told := got.done.Predicted + got.done.Unpredicted; prediction == "" && told > 0 || tt.name == "greedy" && prediction != "" && told == 0 {
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
