package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

// A request is a body of /v1/responses, checked.
type request struct {
	ask.Chat
	owner  string
	object object // the response so far
	input  []kept
	sealed bool // thinking is shown encoded, too
}

// includes are the values of include. Those of tools this server does not run have no effect.
var includes = []string{
	"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url",
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
	"computer_call_output.output.image_url", "code_interpreter_call.outputs",
}

// others are fields that would change the reply and are not supported here, among them those of
// chats that have another place.
var others = append([]ask.Other{
	{Name: "conversation", Instead: "conversations are not kept: go on with previous_response_id, or send the whole input"},
	{Name: "prompt", Instead: "stored prompts are not: send instructions and input"},
	{Name: "moderation", Instead: "nothing is moderated: leave it out"},
	{Name: "context_management", Instead: "conversations are not compacted: set truncation to auto, which leaves the oldest turns out"},
	{Name: "messages", Instead: "send input"},
	{Name: "max_tokens", Instead: "send max_output_tokens"}, {Name: "max_completion_tokens", Instead: "send max_output_tokens"},
	{Name: "n_predict", Instead: "send max_output_tokens"}, {Name: "stop_sequences", Off: ask.Empty, Instead: "send stop"},
	{Name: "n", Off: 1.0, Instead: "a response is one: send several requests"},
	{Name: "logprobs", Off: false, Instead: "send message.output_text.logprobs in include, and top_logprobs"},
	{Name: "reasoning_effort", Instead: "send reasoning.effort"},
	{Name: "include_reasoning", Off: true, Instead: asItems}, {Name: "reasoning_format", Off: []string{"auto", "deepseek"}, Instead: asItems},
	{Name: "functions", Instead: "send tools"}, {Name: "function_call", Instead: "send tool_choice"},
}, ask.Forms(inText)...)

const (
	asItems = "items of type reasoning have the thinking, and a client may skip them"
	inText  = "the form of a response is said by text.format, a JSON Schema or any object"
)

// read reads every field. What a reply must not silently lack is refused.
func (a *api) read(c *server.Call, o *body.Object) (*request, error) {
	r := &request{owner: c.OwnerID()}
	r.object = object{
		ID: reqlog.NewID("resp_"), Object: "response", Created: time.Now().Unix(), Status: inProgress,
		Output: []kept{}, ServiceTier: "default", Truncation: "disabled",
	}
	shown := &r.object
	r.Model = o.Str("model")
	shown.Model = r.Model
	ask.RefuseOthers(o, others)
	a.readKeeping(o, r)
	instructions := o.Str("instructions")
	if o.Has("instructions") {
		shown.Instructions = &instructions
	}
	items, err := a.readInput(c, o, r)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		r.input = append(r.input, it.keep())
	}
	readThinking(c, o, r, a.Options.ReasoningBudgets)
	r.Sampling = ask.ReadSampling(c, o)
	ask.Samplers(c, o, &r.Sampling)
	shown.Temperature, shown.TopP = r.Sampling.Temperature, r.Sampling.TopP
	shown.PresencePenalty, shown.FrequencyPenalty = r.Sampling.PresencePenalty, r.Sampling.FrequencyPenalty
	if v, ok := o.Get("max_output_tokens"); ok {
		n := int(min(v.Integer(1, math.MaxInt64), math.MaxInt32))
		r.Sampling.MaxTokens, shown.MaxOutputTokens = n, &n
	}
	if v, ok := o.Get("max_tool_calls"); ok { // of tools the server runs, of which there are none
		n := int(min(v.Integer(1, math.MaxInt64), math.MaxInt32))
		shown.MaxToolCalls = &n
	}
	r.Top = int(o.Integer("top_logprobs", 0, 0, server.MostLogprobs))
	shown.TopLogprobs = r.Top
	readInclude(c, o, r)
	r.Sampling.Constraint = readText(o, shown)
	r.Prompt.Tools, r.Calls = a.readTools(c, o, r)
	if t := o.OneOf("truncation", "auto", "disabled"); t != "" {
		shown.Truncation, r.Prompt.AutoShorten = t, t == "auto"
	}
	r.Stream = o.Boolean("stream", false)
	if so := o.Object("stream_options"); so != nil {
		so.Ignore("include_obfuscation")
	}
	readLabels(o, shown)
	if err := a.Finish(c, o); err != nil {
		return nil, err
	}
	if err := a.recall(c, r, instructions, items); err != nil {
		return nil, err
	}
	return r, nil
}

// readKeeping reads whether the response is kept, which one it continues, and whether it is
// made in the background.
func (a *api) readKeeping(o *body.Object, r *request) {
	r.object.Store = o.Boolean("store", true) && a.store != nil
	r.object.Background = o.Boolean("background", false)
	const off = "this server keeps no responses (responses.store is off)"
	if r.object.Background && !r.object.Store {
		why := "needs \"store\": true, as the answer is retrieved later"
		if a.store == nil {
			why = "is not possible: " + off
		}
		o.Refuse(engine.CodeUnsupportedParam, "background", "background %s", why)
	}
	if id := o.Str("previous_response_id"); id != "" {
		r.object.Previous = &id
		if a.store == nil {
			o.Refuse(engine.CodeUnsupportedParam, "previous_response_id", "previous_response_id: %s; send the whole input", off)
		}
	}
}

// readInput reads the items that are sent.
func (a *api) readInput(c *server.Call, o *body.Object, r *request) ([]*item, error) {
	in := reader{warn: c.Warn}
	if a.store != nil {
		in.find = func(id string) (json.RawMessage, bool, error) { return a.store.item(c.R.Context(), r.owner, id) }
	}
	v, ok := o.Get("input")
	if !ok {
		if r.object.Previous == nil {
			o.Need("input")
		}
		return nil, nil
	}
	items := in.input(v)
	if in.err != nil {
		return nil, in.err
	}
	if len(items) == 0 && r.object.Previous == nil && v.Ok() {
		v.Invalid("must have at least one item")
	}
	return items, nil
}

// recall puts the conversation that the request continues before its items.
func (a *api) recall(c *server.Call, r *request, instructions string, items []*item) error {
	var earlier []*item
	if r.object.Previous != nil {
		before, err := conversationOf(c.R.Context(), a.store, r.owner, *r.object.Previous)
		if err != nil {
			return err
		}
		bytes := int64(0)
		for _, k := range before {
			bytes += int64(len(k.raw))
		}
		if bytes > a.Options.JSONBody {
			return fault.New(fault.CodeTooLarge, "previous_response_id", "the conversation is larger than limits.json_body (%d bytes); begin a new one", a.Options.JSONBody)
		}
		if err := a.Widen(c, joined(before)); err != nil {
			return err
		}
		if earlier, err = conversation(before); err != nil {
			return err
		}
	}
	if err := strayOutput(earlier, items); err != nil {
		return err
	}
	items = slices.Concat(earlier, items)
	r.Prompt.Messages, r.Prompt.Param = messages(instructions, items), "input"
	if len(r.Prompt.Messages) == 0 {
		return fault.New(engine.CodeInvalidValue, "input", "input has nothing to answer")
	}
	return nil
}

// strayOutput refuses an output whose call is neither among earlier items nor before it. Where
// state is kept, one was forgotten: the model would not know what it asked for.
func strayOutput(earlier, items []*item) error {
	var calls ask.Calls
	for i, it := range slices.Concat(earlier, items) {
		switch {
		case it.kind == itemCall:
			calls.Made(it.callID)
		case it.kind == itemOutput && i >= len(earlier) && !calls.Has(it.callID):
			at := fmt.Sprintf("input[%d].call_id", i-len(earlier))
			return fault.New(engine.CodeInvalidValue, at, "%s: no tool call found for function call output with call_id %.140q; send the function_call item before it, or the previous_response_id of the response that has it", at, it.callID)
		}
	}
	return nil
}

// readThinking reads the fields of thinking.
func readThinking(c *server.Call, o *body.Object, r *request, budgets map[string]int) {
	var t ask.Thinking
	if effort := t.Read(o); effort != "" {
		r.object.Reasoning.Effort = &effort
	}
	if in := o.Object("reasoning"); in != nil {
		for _, name := range []string{"summary", "generate_summary"} {
			if in.OneOf(name, "auto", "concise", "detailed") != "" {
				c.Warn("reasoning." + name + " has no effect: summaries are not made, items of type reasoning have the thinking itself")
			}
		}
		ask.RefuseOthers(in, []ask.Other{{Name: "exclude", Off: false, Instead: asItems}})
		in.Ignore("context", "mode")
	}
	r.Budget = t.Apply(budgets, &r.Prompt)
}

// readInclude reads the optional members of the response.
func readInclude(c *server.Call, o *body.Object, r *request) {
	for v := range o.Items("include") {
		switch v.OneOf(includes...) {
		case "reasoning.encrypted_content":
			r.sealed = true
		case "message.output_text.logprobs":
			r.Logprobs = true
		}
	}
	if r.Top > 0 && !r.Logprobs {
		c.Warn("top_logprobs has no effect without message.output_text.logprobs in include")
	}
}

// plainText is the format of a reply that may be anything.
var plainText = json.RawMessage(`{"type":"text"}`)

// readText reads the form of the reply.
func readText(o *body.Object, shown *object) *engine.Constraint {
	shown.Text.Format = plainText
	t := o.Object("text")
	if t == nil {
		return nil
	}
	shown.Text.Verbosity = t.OneOf("verbosity", "low", "medium", "high")
	f := t.Object("format")
	if f == nil {
		return nil
	}
	f.Need("type")
	kind := f.OneOf("type", "text", "json_object", "json_schema")
	switch kind {
	case "json_object":
		shown.Text.Format = bytes.Clone(f.Raw)
		return &engine.Constraint{Form: engine.FormObject, Param: f.Path()}
	case "json_schema":
		f.Str("description")
		f.Need("schema")
		k := ask.Schema(f, "schema")
		strict := f.Boolean("strict", false)
		if k != nil {
			k.Strict = strict
		}
		if name, ok := f.Need("name"); ok {
			name.Str()
		}
		shown.Text.Format = bytes.Clone(f.Raw)
		return k
	}
	return nil
}

// readLabels reads metadata, and fields without effect here.
func readLabels(o *body.Object, shown *object) {
	shown.Metadata = body.Labels(o)
	label := func(name string, most int) *string {
		v, ok := o.Get(name)
		if !ok {
			return nil
		}
		s := v.Str()
		if utf8.RuneCountInString(s) > most {
			v.Invalid("must have at most %d characters", most)
		}
		return &s
	}
	shown.SafetyIdentifier = label("safety_identifier", body.MaxLabelName)
	shown.PromptCacheKey = label("prompt_cache_key", body.MaxLabelValue)
	label("user", body.MaxLabelValue)
	o.OneOf("service_tier", "auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
	o.Ignore("prompt_cache_retention", "prompt_cache_options")
}
