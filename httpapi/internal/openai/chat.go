package openai

import (
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// A chatRequest is a body of /v1/chat/completions, checked.
type chatRequest struct {
	ask.Chat
	shows server.ReasoningField
	usage usageWanted
}

// readChat reads every field. What a reply must not silently lack is refused.
func (a api) readChat(c *server.Call, o *body.Object) (*chatRequest, error) {
	r := &chatRequest{shows: a.Options.ReasoningField}
	r.Model = o.Str("model")
	r.Prompt.Messages = readMessages(o)
	r.Budget = readThinking(o, a.Options.ReasoningBudgets, &r.Prompt)
	r.Prompt.AutoShorten = o.OneOf("truncation", "disabled", "auto") == "auto"
	r.Prompt.Continue = readContinue(o, r.Prompt.Messages)
	r.Stream, r.usage = streamOptions(o)
	r.shows = readShown(o, r.shows)
	r.Sampling = a.readSampling(c, o)
	for _, name := range []string{"n_predict", "max_tokens", "max_completion_tokens"} { // the last counts
		if n, ok := maxTokensField(o, name, 1); ok {
			r.Sampling.MaxTokens = n
		}
	}
	r.Logprobs = o.Boolean("logprobs", false)
	r.Top = int(o.Integer("top_logprobs", 0, 0, server.MostLogprobs))
	if r.Top > 0 && !r.Logprobs {
		o.Refuse(engine.CodeInvalidValue, "top_logprobs", "top_logprobs needs \"logprobs\": true")
	}
	r.Prompt.Tools, r.Calls = readTools(o)
	refuseSound(o)
	ask.RefuseOthers(o, otherChat)
	refuseTemplates(o, r.Prompt.Continue)
	return r, a.Finish(c, o)
}

// otherChat are fields of chats of llama-server and vLLM without a counterpart here, and fields
// of other dialects that clients send by mistake.
var otherChat = []ask.Other{
	{Name: "echo", Off: false}, {Name: "best_of", Off: 1.0},
	{Name: "documents", Off: ask.Empty, Instead: "send their texts in messages"},
	{Name: "add_special_tokens", Off: false, Instead: "the template says what a prompt begins with"},
	{Name: "parse_tool_calls", Off: true, Instead: "leave tools out, or set tool_format of the model to none in the configuration"},
	{Name: "system", Off: ask.Empty, Instead: "send a message of role system"},
	{Name: "stop_sequences", Off: ask.Empty, Instead: "send stop"}, {Name: "max_output_tokens", Instead: "send max_completion_tokens"},
}

// refuseTemplates refuses other templates than the model's, and prompts of messages without the
// beginning of a reply.
func refuseTemplates(o *body.Object, goesOn bool) {
	ask.RefuseOthers(o, []ask.Other{{Name: "chat_template", Off: ask.Empty, Instead: "a model's template is its file's, or chat_template of the configuration"}})
	if !o.Boolean("add_generation_prompt", true) && !goesOn {
		o.Refuse(engine.CodeUnsupportedParam, "add_generation_prompt", "add_generation_prompt: false is not supported: a reply has to begin; leave it out")
	}
}

// readContinue reports whether the reply continues the last message: by
// default when that is the assistant's and has text.
func readContinue(o *body.Object, messages []chat.Message) bool {
	last := chat.Message{}
	if len(messages) > 0 {
		last = messages[len(messages)-1]
	}
	can := last.Role == chat.RoleAssistant && !last.NoContent && len(last.ToolCalls) == 0
	want := o.Boolean("continue_final_message", can)
	if want && !can {
		o.Refuse(engine.CodeInvalidValue, "continue_final_message", "continue_final_message needs a last message of role assistant with text")
	}
	return want && can
}

// refuseSound refuses requests for spoken replies.
func refuseSound(o *body.Object) {
	for v := range o.Items("modalities") {
		if m := v.Str(); m != "text" {
			o.Refuse(engine.CodeUnsupportedParam, "modalities", "modalities may only hold \"text\", got %.60q", m)
		}
	}
	if o.Has("audio") {
		o.Refuse(engine.CodeUnsupportedParam, "audio", "audio replies are not supported; leave audio out")
	}
}

// chatHead is the members that the whole answer and every chunk of a stream begin with.
type chatHead struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint,omitempty"`
}

func newHead(prefix, object string, info engine.ModelInfo) chatHead {
	return chatHead{reqlog.NewID(prefix), object, time.Now().Unix(), info.ID, info.Fingerprint}
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

// A chatMessage is an answer. Its content is null beside calls and no words.
type chatMessage struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	shownThinking
	Refusal *struct{}  `json:"refusal"`
	Calls   []chatCall `json:"tool_calls,omitempty"` // an empty array makes some agents loop
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (a api) chatCompletions(c *server.Call, o *body.Object) error {
	r, err := a.readChat(c, o)
	if err != nil {
		return err
	}
	info, err := r.Open(a.API, c)
	if err != nil {
		return err
	}
	ctx, cancel := turn.Time(a.API, c, r.Stream)
	defer cancel()
	asked, err := r.Turn(ctx, a.API, c)
	if err != nil {
		return err
	}
	if r.shows == server.ReasoningInline {
		c.Lease = inlined{c.Lease}
	}
	return turn.Answer(ctx, a.API, c, asked, turn.Dialect{
		Streamed: r.Stream, Framing: stream.ServerEvents,
		Stream: func(out *stream.Writer, t *turn.Tally) turn.Spelling {
			return newChatStream(&eventStream{out: out, t: t, load: c.Loading}, info, r)
		},
		Whole: func(replies []turn.Reply, t *turn.Tally) any {
			out := chatCompletion{
				chatHead: newHead("chatcmpl-", "chat.completion", info),
				Usage:    newUsage(t), Timings: newTimings(t, c.Loading), Truncated: t.Truncated,
			}
			for i := range replies[0].Sequences {
				out.Choices = append(out.Choices, r.choice(i, &replies[0].Sequences[i]))
			}
			return out
		},
	})
}

// choice spells sequence i.
func (r *chatRequest) choice(i int, s *turn.Sequence) chatChoice {
	c := chatChoice{
		Index: i, Message: chatMessage{Role: chat.RoleAssistant, shownThinking: showThinking(r.shows, s.Reasoning())},
		FinishReason: s.End.Reason, StopReason: s.End.StopReason,
	}
	if text := s.Text(); text != "" || len(s.Calls) == 0 {
		c.Message.Content = &text
	}
	for _, call := range s.Calls {
		c.Message.Calls = append(c.Message.Calls, chatCall{call.ID, "function", chatFunction{call.Name, call.Arguments}})
	}
	if r.Logprobs {
		c.Logprobs = newChatLogprobs(s.Logprobs, r.Top)
	}
	return c
}

// rendered finds the prompt a chat request would give the model.
func (a api) rendered(c *server.Call, o *body.Object) (info engine.ModelInfo, res engine.TokenizeResult, err error) {
	r, err := a.readChat(c, o)
	if err != nil {
		return info, res, err
	}
	if info, err = r.Open(a.API, c); err != nil {
		return info, res, err
	}
	res, err = server.InTime(a.API, c, c.Lease.Tokenize, engine.TokenizeRequest{Prompt: r.Prompt})
	return info, res, err
}

// applyTemplate answers with that prompt as llama-server does.
func (a api) applyTemplate(c *server.Call, o *body.Object) error {
	_, res, err := a.rendered(c, o)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		Prompt string `json:"prompt"`
	}{res.Text})
}

// render answers with it and its tokens.
func (a api) render(c *server.Call, o *body.Object) error {
	info, res, err := a.rendered(c, o)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
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
