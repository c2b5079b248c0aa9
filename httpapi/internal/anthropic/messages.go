package anthropic

import (
	"encoding/json"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// A message is an answer.
type message struct {
	ID         string  `json:"id"`
	Type       string  `json:"type"`
	Role       string  `json:"role"`
	Model      string  `json:"model"`
	Content    []any   `json:"content"` // blocks
	StopReason *string `json:"stop_reason"`
	StopText   *string `json:"stop_sequence"`
	Usage      usage   `json:"usage"`
}

// A usage counts tokens. Cached tokens of a prompt are counted separately.
type usage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"` // always 0: caching a prompt is not charged
	Cached  int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

func newUsage(t *turn.Tally) usage {
	return usage{Input: t.PromptTokens - t.CachedTokens, Cached: t.CachedTokens, Output: t.OutputTokens}
}

// The blocks of an answer.
type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"` // "": nothing is checked when it comes back
	}
	useBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
)

// stopReasons are the engine's reasons in the dialect's words.
var stopReasons = map[string]string{
	engine.ReasonStop:   "end_turn",
	engine.ReasonLength: "max_tokens",
	engine.ReasonCalls:  "tool_use",
}

// stopped is why an answer ended, and the stop string that ended it.
func stopped(end engine.Event) (reason string, at *string) {
	if s, ok := end.StopReason.(string); ok && end.Reason == engine.ReasonStop {
		return "stop_sequence", &s
	}
	return stopReasons[end.Reason], nil
}

func newMessage(info engine.ModelInfo) message {
	return message{ID: reqlog.NewID("msg_"), Type: "message", Role: chat.RoleAssistant, Model: info.ID, Content: []any{}}
}

func (a api) messages(c *server.Call, o *body.Object) error {
	r, err := a.readRequest(c, o)
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
	m := newMessage(info)
	return turn.Answer(ctx, a.API, c, asked, turn.Dialect{
		Streamed: r.Stream, Framing: events,
		Stream: func(out *stream.Writer, t *turn.Tally) turn.Spelling {
			return &spelling{out: out, t: t, message: m, hides: r.hides}
		},
		Whole: func(replies []turn.Reply, t *turn.Tally) any {
			m.add(&replies[0].Sequences[0], r.hides)
			m.Usage = newUsage(t)
			return m
		},
	})
}

// add spells a sequence. A call that was cut off has no input to show, and is left out.
func (m *message) add(s *turn.Sequence, hides bool) {
	if t := s.Reasoning(); t != "" {
		if hides {
			t = ""
		}
		m.Content = append(m.Content, thinkingBlock{Type: "thinking", Thinking: t})
	}
	if t := s.Text(); t != "" {
		m.Content = append(m.Content, textBlock{"text", t})
	}
	for _, call := range s.Calls {
		m.Content = append(m.Content, useBlock{"tool_use", call.ID, call.Name, json.RawMessage(call.Arguments)})
	}
	reason, at := stopped(s.End)
	m.StopReason, m.StopText = &reason, at
}

// countTokens answers with the tokens of the prompt a request would give the model.
func (a api) countTokens(c *server.Call, o *body.Object) error {
	r := &request{}
	a.readPrompt(o, r)
	// Known, and without effect on the prompt.
	o.Ignore("output_format", "cache_control", "context_management", "betas", "max_tokens", "stream", "temperature", "top_p",
		"top_k", "stop_sequences", "metadata", "speed")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	if _, err := r.Open(a.API, c); err != nil {
		return err
	}
	res, err := server.InTime(a.API, c, c.Lease.Tokenize, engine.TokenizeRequest{Prompt: r.Prompt})
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		Input int `json:"input_tokens"`
	}{len(res.Tokens)})
}
