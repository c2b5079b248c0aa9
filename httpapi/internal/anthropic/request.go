package anthropic

import (
	"math"
	"slices"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A request is a body of /v1/messages, checked.
type request struct {
	ask.Chat
	hides bool // thinking is not shown, only that there was some
}

// others are fields of chats that would change the reply, but have another place or no
// counterpart here.
var others = []ask.Other{
	{Name: "stop", Off: ask.Empty, Instead: "send stop_sequences"},
	{Name: "max_completion_tokens", Instead: "send max_tokens"},
	{Name: "reasoning_effort", Instead: "send output_config.effort"},
	{Name: "reasoning", Off: ask.Empty, Instead: inThinking}, {Name: "enable_thinking", Instead: inThinking}, {Name: "chat_template_kwargs", Off: ask.Empty, Instead: inThinking},
	{Name: "truncation", Off: []string{"disabled"}},
	{Name: "n", Off: 1.0, Instead: "a message is one: send several requests"},
	{Name: "logprobs", Off: false}, {Name: "presence_penalty", Off: 0.0}, {Name: "frequency_penalty", Off: 0.0}, {Name: "logit_bias", Off: ask.Empty},
	{Name: "functions", Instead: "send tools"}, {Name: "function_call", Instead: "send tool_choice"},
	{Name: "min_p", Off: 0.0}, {Name: "typical_p", Off: 1.0}, {Name: "repeat_penalty", Off: 1.0}, {Name: "repetition_penalty", Off: 1.0},
	{Name: "samplers"}, {Name: "min_tokens", Off: 0.0}, {Name: "ignore_eos", Off: false}, {Name: "stop_token_ids", Off: ask.Empty},
}

const inThinking = "send thinking"

// demands are what other dialects ask for in many ways, and this one in one.
var demands = slices.Concat(ask.Limits(inThinking), ask.Forms("send output_config.format with a schema"))

// readRequest reads every field. What a reply must not silently lack is refused.
func (a api) readRequest(c *server.Call, o *body.Object) (*request, error) {
	r := &request{}
	a.readPrompt(o, r)
	if v, ok := o.Need("max_tokens"); ok {
		r.Sampling.MaxTokens = int(min(v.Integer(1, math.MaxInt64), math.MaxInt32))
	}
	r.Stream = o.Boolean("stream", false)
	r.Sampling.N = 1
	r.Sampling.Temperature = o.Number("temperature", 0, 1)
	r.Sampling.TopP = o.Number("top_p", 0, 1)
	if o.Has("top_k") {
		r.Sampling.TopK = new(int(o.Integer("top_k", 0, 0, math.MaxInt32)))
	}
	if v, ok := o.Get("stop_sequences"); ok && v.Kind() != '[' {
		v.Wrong("an array of strings")
	}
	r.Sampling.Stop = ask.Stop(o, "stop_sequences")
	r.Sampling.Seed = ask.Seed(o)
	r.Sampling.KeepAlive = body.KeepAlive(o)
	r.Sampling.Constraint = readForm(o)
	ask.RefuseOthers(o, others)
	ask.RefuseSampling(c, o)
	ask.RefuseOthers(o, demands)
	if m := o.Object("context_management"); m != nil {
		for range m.Items("edits") {
			c.Warn("context_management has no effect: messages are shown to the model as they are sent")
			break
		}
	}
	// Known, and without effect here.
	o.Ignore("metadata", "service_tier", "cache_control", "betas", "inference_geo", "speed")
	return r, a.Finish(c, o)
}

// readPrompt reads the conversation, and how the model may think.
func (a api) readPrompt(o *body.Object, r *request) {
	r.Model = o.Str("model")
	r.Prompt.Messages = readConversation(o)
	r.Prompt.Tools, r.Calls = readTools(o)
	if n := len(r.Prompt.Messages); n > 0 {
		last := r.Prompt.Messages[n-1]
		r.Prompt.Continue = last.Role == chat.RoleAssistant && !last.NoContent && len(last.ToolCalls) == 0
	}
	var t ask.Thinking
	if how := o.Object("thinking"); how != nil {
		how.Need("type")
		t.Object(how)
		r.hides = how.OneOf("display", "summarized", "omitted") == "omitted"
	}
	if out := o.Object("output_config"); out != nil {
		t.Effort(out.OneOf("effort", server.ReasoningEfforts()...))
	}
	r.Budget = t.Apply(a.Options.ReasoningBudgets, &r.Prompt)
	ask.RefuseOthers(o, []ask.Other{{Name: "mcp_servers", Off: ask.Empty}, {Name: "container", Off: ask.Empty}})
}

// readForm reads the form that is demanded of a reply, in the field for it and in the
// older one.
func readForm(o *body.Object) *engine.Constraint {
	var out *engine.Constraint
	for _, in := range []*body.Object{o.Object("output_config"), o} {
		name := "format"
		if in == o {
			name = "output_format"
		}
		if in == nil || !in.Has(name) {
			continue
		}
		f := in.Object(name)
		if f == nil {
			return nil
		}
		if out != nil {
			f.Refuse(engine.CodeInvalidValue, f.Path(), "%s and %s both say what form the reply has; send only one of them", out.Param, f.Path())
			return nil
		}
		f.Need("type")
		f.OneOf("type", "json_schema")
		f.Need("schema")
		if out = ask.Schema(f, "schema"); out == nil {
			return nil
		}
	}
	return out
}
