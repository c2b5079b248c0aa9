package httpapi

import (
	"context"
	"time"

	"quern/engine"
	"quern/engine/chat"
)

// A chatRequest is a body of /v1/chat/completions, checked.
type chatRequest struct {
	model    string
	prompt   engine.Prompt
	sampling sampling
	stream   bool
	usage    usageWanted
	logprobs bool
	top      int
}

// readChat reads every field. What a reply must not silently lack is refused.
func (a openaiAPI) readChat(c *call, o *object) (*chatRequest, error) {
	r := &chatRequest{model: o.str("model")}
	r.prompt.Messages = readMessages(o)
	r.prompt.Kwargs = readKwargs(o)
	r.prompt.AutoShorten = o.oneOf("truncation", "disabled", "auto") == "auto"
	r.prompt.Continue = readContinue(o, r.prompt.Messages)
	r.stream, r.usage = streamOptions(o)
	r.sampling = a.readSampling(o)
	r.sampling.maxTokens, _ = maxTokensField(o, "max_tokens", 1)
	if n, ok := maxTokensField(o, "max_completion_tokens", 1); ok {
		r.sampling.maxTokens = n
	}
	r.logprobs = o.boolean("logprobs", false)
	r.top = int(o.integer("top_logprobs", 0, 0, MostLogprobs))
	if r.top > 0 && !r.logprobs {
		o.p.set(fail(codeInvalidValue, "top_logprobs", "top_logprobs needs \"logprobs\": true"))
	}
	refuseTools(o)
	refuseFormats(o)
	return r, a.finish(c, o)
}

// readContinue says whether the reply goes on with the last message: by
// default when that is the assistant's and has text.
func readContinue(o *object, messages []chat.Message) bool {
	last := chat.Message{}
	if len(messages) > 0 {
		last = messages[len(messages)-1]
	}
	can := last.Role == chat.RoleAssistant && !last.NoContent && len(last.ToolCalls) == 0
	want := o.boolean("continue_final_message", can)
	if want && !can {
		o.p.set(fail(codeInvalidValue, "continue_final_message", "continue_final_message needs a last message of role assistant with text"))
	}
	return want && can
}

// refuseTools refuses requests that expect tool calls. With "tool_choice":
// "none" the tools do not matter.
func refuseTools(o *object) {
	o.ignore("parallel_tool_calls")
	choice := ""
	if v, ok := o.get("tool_choice"); ok {
		switch v.kind() {
		case '"':
			choice = o.oneOf("tool_choice", "none", "auto", "required")
		case '{':
			choice = "named"
		default:
			v.wrong("a string or an object")
		}
	}
	if tools, ok := o.get("tools"); ok {
		n := 0
		for item := range tools.items() {
			item.object()
			n++
		}
		if n > 0 && choice != "none" {
			o.p.set(fail(codeUnsupported, "tools", "tools is not supported yet; leave it out or set \"tool_choice\": \"none\""))
		}
	}
	if choice == "required" || choice == "named" {
		o.p.set(fail(codeUnsupported, "tool_choice", "tool_choice is not supported yet; leave it out or set it to \"none\""))
	}
	for _, name := range []string{"functions", "function_call"} {
		if o.has(name) {
			o.p.set(fail(codeUnsupported, name, "%s is the old form of tools and is not supported; use tools and tool_choice", name))
		}
	}
}

func refuseFormats(o *object) {
	if f := o.object("response_format"); f != nil {
		switch f.need("type"); f.oneOf("type", "text", "json_object", "json_schema") {
		case "json_object", "json_schema":
			o.p.set(fail(codeUnsupported, "response_format", "response_format other than text is not supported yet; leave it out and check the reply yourself"))
		}
	}
	for v := range o.items("modalities") {
		if m := v.str(); m != "text" {
			o.p.set(fail(codeUnsupported, "modalities", "modalities may only hold \"text\", got %.60q", m))
		}
	}
	if o.has("audio") {
		o.p.set(fail(codeUnsupported, "audio", "audio replies are not supported; leave audio out"))
	}
}

// request builds what the engine is asked.
func (r *chatRequest) request(a *API, d engine.Sampling) engine.GenerateRequest {
	q := engine.GenerateRequest{Prompt: r.prompt}
	r.sampling.apply(&q, d)
	if r.sampling.maxTokens == 0 {
		q.MaxTokens = d.MaxTokens
		if q.MaxTokens == 0 {
			q.MaxTokens = a.o.DefaultMaxTokens
		}
	}
	q.Sample.Logprobs = r.logprobs
	q.Sample.Top = r.top
	return q
}

// chatHead is what the whole answer and every chunk of a stream begin with.
type chatHead struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint,omitempty"`
}

func newHead(prefix, object string, info engine.ModelInfo) chatHead {
	return chatHead{newID(prefix), object, time.Now().Unix(), info.ID, info.Fingerprint}
}

type chatCompletion struct {
	chatHead
	Choices   []chatChoice `json:"choices"`
	Usage     *usage       `json:"usage"`
	Timings   *timings     `json:"timings"`
	Truncated int          `json:"truncated_messages,omitempty"`
}

type chatChoice struct {
	Index        int           `json:"index"`
	Message      chatMessage   `json:"message"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
	StopReason   any           `json:"stop_reason"`
}

type chatMessage struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Refusal *struct{} `json:"refusal"`
}

func (a openaiAPI) chatCompletions(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	r, err := a.readChat(c, o)
	if err != nil {
		return err
	}
	logCaller(c, o)
	info, err := a.prepare(c, r.model, engine.KindChat)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	if !r.stream {
		var cancel context.CancelFunc
		ctx, cancel = a.withRequestTimeout(ctx, c)
		defer cancel()
	}
	t := Start(ctx, a.metrics, c.lease, []engine.GenerateRequest{r.request(a.API, c.lease.Defaults())})
	defer t.Close()
	defer logTurn(c, t)
	if r.stream {
		return a.streamTurn(c, t, func(out *eventStream) Spelling { return newChatStream(out, info, r) })
	}
	replies, err := t.Collect(ctx)
	if err != nil {
		return err
	}
	out := chatCompletion{
		chatHead: newHead("chatcmpl-", "chat.completion", info),
		Usage:    finalUsage(&t.Tally), Timings: newTimings(&t.Tally, c.loading), Truncated: t.Truncated,
	}
	for i := range replies[0].Sequences {
		s := &replies[0].Sequences[i]
		choice := chatChoice{
			Index: i, Message: chatMessage{Role: chat.RoleAssistant, Content: s.Text()},
			FinishReason: s.End.Reason, StopReason: s.End.StopReason,
		}
		if r.logprobs {
			choice.Logprobs = newChatLogprobs(s.Logprobs, r.top)
		}
		out.Choices = append(out.Choices, choice)
	}
	return a.writeJSON(c, 200, out)
}

func logTurn(c *call, t *Turn) { c.logTokens(t.PromptTokens, t.OutputTokens) }

// render answers with the prompt a chat request would give the model.
func (a openaiAPI) render(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	r, err := a.readChat(c, o)
	if err != nil {
		return err
	}
	info, err := a.prepare(c, r.model, engine.KindChat)
	if err != nil {
		return err
	}
	res, err := inTime(a.API, c, c.lease.Tokenize, engine.TokenizeRequest{Prompt: r.prompt})
	if err != nil {
		return err
	}
	return a.writeJSON(c, 200, struct {
		Object  string `json:"object"`
		Model   string `json:"model"`
		Prompt  string `json:"prompt"`
		Tokens  any    `json:"tokens"`
		Count   int    `json:"count"`
		Context int    `json:"max_model_len"`
	}{"chat.prompt", info.ID, res.Text, list(res.Tokens), len(res.Tokens), res.Context})
}

// list makes nil an empty array in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
