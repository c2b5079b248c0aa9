package openai

import (
	"context"
	"iter"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// readThinking reads the fields of thinking, and the variables of the template.
// budgets are those of efforts.
func readThinking(o *body.Object, budgets map[string]int, p *engine.Prompt) *engine.ReasoningBudget {
	var t ask.Thinking
	t.Effort(o.OneOf("reasoning_effort", server.ReasoningEfforts()...))
	t.Read(o)
	return t.Apply(budgets, p)
}

// readShown reads where a reply shows thinking: fields of vLLM, llama-server and gateways override
// the setting.
func readShown(o *body.Object, as server.ReasoningField) server.ReasoningField {
	switch o.OneOf("reasoning_format", "auto", "none", "deepseek") {
	case "none":
		as = server.ReasoningInline
	case "deepseek":
		as = server.ReasoningContent
	}
	hidden := !o.Boolean("include_reasoning", true)
	if in := o.Object("reasoning"); in != nil && in.Boolean("exclude", false) {
		hidden = true
	}
	if hidden {
		as = reasoningHidden
	}
	return as
}

// reasoningHidden shows no thinking.
const reasoningHidden server.ReasoningField = "hidden"

// A shownThinking is thinking as messages and their pieces show it.
type shownThinking struct {
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

func showThinking(as server.ReasoningField, text string) (t shownThinking) {
	if as == reasoningHidden {
		return t
	}
	if as != server.ReasoningPlain {
		t.ReasoningContent = text
	}
	if as != server.ReasoningContent {
		t.Reasoning = text
	}
	return t
}

// An inlined model shows thinking in the text of its answers, between the usual markers.
type inlined struct{ engine.Lease }

// Generate implements engine.Lease.
func (l inlined) Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		open := map[int]bool{} // sequences inside thinking
		for ev, err := range l.Lease.Generate(ctx, r) {
			switch i := ev.Index; {
			case ev.Type == engine.ReasoningDelta:
				ev.Type = engine.Delta
				if !open[i] {
					ev.Text = "<think>\n" + ev.Text
				}
				open[i] = true
			case open[i] && (ev.Type == engine.Delta && ev.Text != "" || ev.Type == engine.CallStart):
				delete(open, i)
				closing := engine.Event{Type: engine.Delta, Index: i, Text: "\n</think>\n\n", OutputTokens: ev.OutputTokens, Reasoning: ev.Reasoning}
				if !yield(closing, nil) {
					return
				}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
