package openai

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"math"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// maxKwargs bounds what a request sets for the template: a variable takes hundreds of
// bytes there.
const maxKwargs = 256

// budgetFields bound the tokens of thinking: as llama-server, Qwen's API and vLLM call them.
var budgetFields = []string{"reasoning_budget", "reasoning_budget_tokens", "thinking_budget", "thinking_budget_tokens", "thinking_token_budget"}

// readThinking reads how a reply may think, and what the request sets for the template.
// Variables named in chat_template_kwargs win over those other fields stand for. budgets are
// those of efforts.
func readThinking(o *body.Object, budgets map[string]int) (map[string]json.RawMessage, *engine.ReasoningBudget) {
	kw := map[string]json.RawMessage{}
	set := func(name string, v any) {
		kw[name], _ = json.Marshal(v) // booleans, strings and integers
	}
	effort := o.OneOf("reasoning_effort", server.ReasoningEfforts()...)
	switch effort {
	case "":
	case "none":
		set("enable_thinking", false)
	default:
		set("reasoning_effort", effort)
	}
	var most *engine.ReasoningBudget
	if t := o.Object("thinking"); t != nil {
		set("enable_thinking", t.OneOf("type", "enabled", "disabled", "adaptive") != "disabled")
		most = readBudget(t, "budget_tokens", most)
	}
	if o.Has("enable_thinking") {
		set("enable_thinking", o.Boolean("enable_thinking", true))
	}
	for _, name := range budgetFields {
		most = readBudget(o, name, most)
	}
	if n, ok := budgets[effort]; ok && most == nil {
		most = &engine.ReasoningBudget{Tokens: n}
	}
	if most != nil {
		set("thinking_budget", most.Tokens)
		if most.Tokens == 0 {
			set("enable_thinking", false)
		}
	}
	maps.Copy(kw, o.Free("chat_template_kwargs", maxKwargs))
	if len(kw) == 0 {
		kw = nil
	}
	return kw, most
}

// readBudget reads a field that bounds thinking, of which there may be several that say the
// same. -1 is none.
func readBudget(o *body.Object, name string, before *engine.ReasoningBudget) *engine.ReasoningBudget {
	v, ok := o.Get(name)
	if !ok {
		return before
	}
	n := int(min(v.Integer(-1, math.MaxInt64), math.MaxInt32))
	switch {
	case n < 0:
		return before
	case before != nil && before.Tokens != n:
		v.Refuse(engine.CodeInvalidValue, v.Path(), "%s and %s bound thinking by different numbers; send only one of them", before.Param, v.Path())
	}
	return &engine.ReasoningBudget{Tokens: n, Param: v.Path()}
}

// A shownThinking is thinking as messages and their pieces show it.
type shownThinking struct {
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

func showThinking(as server.ReasoningField, text string) (t shownThinking) {
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
