package ask

import (
	"encoding/json"
	"maps"
	"math"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// maxKwargs bounds the variables that a request sets for the template: a variable takes hundreds of
// bytes there.
const maxKwargs = 256

// A Thinking has the fields about thinking of a request. The zero value leaves it to the model.
type Thinking struct {
	enable *bool
	effort string
	budget *engine.ReasoningBudget
	free   map[string]json.RawMessage
}

// Enable switches thinking on or off.
func (t *Thinking) Enable(on bool) { t.enable = &on }

// Effort sets one of server.ReasoningEfforts; "" is none given.
func (t *Thinking) Effort(effort string) {
	t.effort = effort
	if effort == "none" {
		t.Enable(false)
	}
}

// Limit reads a field that bounds the tokens of thinking, of which there may be several
// that say the same. -1 is none.
func (t *Thinking) Limit(o *body.Object, name string) {
	v, ok := o.Get(name)
	if !ok {
		return
	}
	n := int(min(v.Integer(-1, math.MaxInt64), math.MaxInt32))
	switch {
	case n < 0:
		return
	case t.budget != nil && t.budget.Tokens != n:
		v.Refuse(engine.CodeInvalidValue, v.Path(), "%s and %s bound thinking by different numbers; send only one of them", t.budget.Param, v.Path())
	}
	t.budget = &engine.ReasoningBudget{Tokens: n, Param: v.Path()}
}

// limits bound the tokens of thinking: by the names of llama-server, Qwen's API and vLLM.
var limits = []string{"reasoning_budget", "reasoning_budget_tokens", "thinking_budget", "thinking_budget_tokens", "thinking_token_budget"}

// Object reads Anthropic's object: whether the model thinks, and how much at the most.
func (t *Thinking) Object(in *body.Object) {
	t.Enable(in.OneOf("type", "enabled", "disabled", "adaptive") != "disabled")
	t.Limit(in, "budget_tokens")
}

// Read reads the fields of thinking of OpenAI's dialects, but for an effort that stands alone:
// their own, those of gateways, OpenRouter among them, and of other servers, and the
// variables of the template. It returns the effort that they name, "" for none.
func (t *Thinking) Read(o *body.Object) (effort string) {
	if in := o.Object("reasoning"); in != nil {
		if effort = in.OneOf("effort", server.ReasoningEfforts()...); effort != "" {
			t.Effort(effort)
		}
		if in.Has("enabled") {
			t.Enable(in.Boolean("enabled", true))
		}
		t.Limit(in, "max_tokens")
	}
	if in := o.Object("thinking"); in != nil {
		t.Object(in)
	}
	if o.Has("enable_thinking") {
		t.Enable(o.Boolean("enable_thinking", true))
	}
	for _, name := range limits {
		t.Limit(o, name)
	}
	t.Free(o, "chat_template_kwargs")
	return effort
}

// Free reads the variables of the template that a field sets by their own names. They override
// those of other fields.
func (t *Thinking) Free(o *body.Object, name string) { t.free = o.Free(name, maxKwargs) }

// Apply sets the variables of a prompt's template for these fields, and returns the bound of
// thinking, nil for none. budgets are those of efforts.
func (t Thinking) Apply(budgets map[string]int, p *engine.Prompt) *engine.ReasoningBudget {
	if n, ok := budgets[t.effort]; ok && t.budget == nil {
		t.budget = &engine.ReasoningBudget{Tokens: n}
	}
	kwargs := map[string]json.RawMessage{}
	set := func(name string, v any) { kwargs[name], _ = json.Marshal(v) } // never fails on these
	if t.effort != "" && t.effort != "none" {
		set("reasoning_effort", t.effort)
	}
	if t.enable != nil {
		set("enable_thinking", *t.enable)
	}
	if t.budget != nil {
		set("thinking_budget", t.budget.Tokens)
		if t.budget.Tokens == 0 {
			set("enable_thinking", false)
		}
	}
	maps.Copy(kwargs, t.free)
	if len(kwargs) > 0 {
		p.Kwargs = kwargs
	}
	return t.budget
}
