package chat

import (
	"context"
	"encoding/json"

	"quern/engine/chat/internal/jinja"
	"quern/engine/wire"
)

// Format finds out in which format models answer that use the template. It
// renders some twenty small conversations, so it is asked once a model.
func (t *Template) Format() wire.Found {
	return wire.FindFormat(t.source, prober{t}.sample)
}

// sample renders a sample, with the answer's turn closed.
func (p prober) sample(s wire.Sample) (string, bool) {
	req := &Request{Messages: []Message{{Role: RoleUser, Text: wire.SampleQuestion}}}
	if s.Tools {
		req.Tools = []Tool{{Raw: json.RawMessage(wire.SampleTool)}}
	}
	if s.Thinking != nil {
		v, _ := json.Marshal(*s.Thinking)
		req.Kwargs = []Kwarg{{"enable_thinking", v}}
	}
	if s.Answer {
		req.End = EndHistory
		answer := Message{Role: RoleAssistant, Text: s.Content, Reasoning: s.Reasoning, NoContent: s.Content == ""}
		for _, c := range s.Calls {
			answer.ToolCalls = append(answer.ToolCalls, Call(c))
		}
		req.Messages = append(req.Messages, answer)
	}
	if s.Result {
		for _, c := range s.Calls {
			req.Messages = append(req.Messages, Message{Role: RoleTool, Name: c.Name, ToolCallID: c.ID, Text: "ok"})
		}
	}
	base, err := p.t.variables(context.Background(), req)
	if err != nil {
		return "", false
	}
	list := make([]jinja.Value, len(req.Messages))
	for i, m := range req.Messages {
		list[i] = p.t.wants.message(context.Background(), m, jinja.Outside)
	}
	out, err := p.t.run(base, list, jinja.Options{
		Now:      p.t.opt.Now,
		MaxSteps: probeSteps, MaxOutput: probeBytes, MaxMemory: 16 * probeBytes,
	})
	return out.String(), err == nil
}
