package ollama

import (
	"encoding/json"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/turn"
)

// chat answers POST /api/chat. Without messages it only loads the model, or unloads it.
func (a api) chat(c *server.Call, o *body.Object) error {
	r := &ask.Chat{Model: readName(o)}
	var more common
	r.Prompt.Messages = readMessages(o)
	r.Prompt.Tools, r.Calls = readTools(o)
	a.readCommon(o, r, &more)
	if err := a.Finish(c, o); err != nil {
		return err
	}
	chunk := func(text, thinking string, calls []call) any {
		return chatChunk{Message: chatMessage{Role: chat.RoleAssistant, Content: text, Thinking: thinking, Calls: calls}}
	}
	if len(r.Prompt.Messages) == 0 {
		return a.load(c, r, chunk("", "", nil), engine.KindChat)
	}
	return a.answer(c, r, more, spelled{chunk: chunk, kinds: []engine.Kind{engine.KindChat}})
}

type chatChunk struct {
	head
	Message chatMessage `json:"message"`
	ended
}

func (k chatChunk) with(h head, e ended) any {
	k.head, k.ended = h, e
	return k
}

type chatMessage struct {
	Role     string `json:"role"`
	Content  string `json:"content"`
	Thinking string `json:"thinking,omitempty"`
	Calls    []call `json:"tool_calls,omitempty"`
}

// A call is a call of a tool, which is sent when it is whole.
type call struct {
	ID       string   `json:"id"`
	Function callNote `json:"function"`
}

type callNote struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func newCall(index int, c turn.Call) call {
	return call{c.ID, callNote{index, c.Name, json.RawMessage(c.Arguments)}}
}

func readMessages(o *body.Object) []chat.Message {
	var out []chat.Message
	for item := range o.Items("messages") {
		if m := item.Object(); m != nil {
			out = append(out, readMessage(m))
		}
	}
	return out
}

func readMessage(o *body.Object) chat.Message {
	o.Need("role")
	m := chat.Message{Role: o.OneOf("role", chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool), Text: o.Str("content")}
	ask.RefuseOthers(o, []ask.Other{{Name: "images", Off: ask.Empty}})
	switch m.Role {
	case chat.RoleAssistant:
		m.Reasoning = o.Str("thinking")
		for item := range o.Items("tool_calls") {
			if c := item.Object(); c != nil {
				m.ToolCalls = append(m.ToolCalls, readCall(c))
			}
		}
		m.NoContent = m.Text == "" && len(m.ToolCalls) > 0
	case chat.RoleTool:
		m.ToolCallID = o.Str("tool_call_id")
		m.Name = o.Str("tool_name")
		if n := o.Str("name"); m.Name == "" {
			m.Name = n
		}
	}
	return m
}

func readCall(o *body.Object) chat.Call {
	out := chat.Call{ID: o.Str("id"), Arguments: "{}"}
	v, ok := o.Need("function")
	if !ok {
		return out
	}
	f := v.Object()
	if f == nil {
		return out
	}
	if n, ok := f.Need("name"); ok {
		out.Name = n.Str()
	}
	if args, ok := f.Get("arguments"); ok {
		if args.Kind() != '{' {
			args.Wrong("an object")
		}
		out.Arguments = string(args.Raw)
	}
	return out
}

// readTools reads the tools a reply may call.
func readTools(o *body.Object) ([]chat.Tool, engine.ToolChoice) {
	var tools ask.Tools
	tools.Read(o, func(t *body.Object) {
		if kind := t.Str("type"); kind != "" && kind != "function" {
			t.Refuse(engine.CodeUnsupportedParam, t.Path(), "%s is of type %.60q; only functions are supported", t.Path(), kind)
		}
		if v, ok := t.Need("function"); ok {
			if f := v.Object(); f != nil {
				tools.Add(f, "parameters", ask.Function(f, nil))
			}
		}
	})
	return tools.Choose(o, engine.ToolChoice{})
}
