package openai

import (
	"slices"

	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// readMessages reads a conversation; the array must be there and not empty.
func readMessages(o *body.Object) []chat.Message {
	v, ok := o.Need("messages")
	if !ok {
		return nil
	}
	out := make([]chat.Message, 0, v.Count(body.MaxObjects))
	var calls ask.Calls
	for item := range v.Items() {
		if m := item.Object(); m != nil {
			out = append(out, readMessage(m, &calls))
		}
	}
	if len(out) == 0 && v.Ok() {
		v.Invalid("must have at least one message")
	}
	return out
}

// messageRoles maps the roles of requests to those of templates.
var messageRoles = map[string]string{
	"system":    chat.RoleSystem,
	"developer": chat.RoleSystem,
	"user":      chat.RoleUser,
	"assistant": chat.RoleAssistant,
	"tool":      chat.RoleTool,
	"function":  chat.RoleTool,
}

// readMessage reads one message behind those that made calls.
func readMessage(o *body.Object, calls *ask.Calls) chat.Message {
	role := ""
	if v, ok := o.Need("role"); ok {
		role = v.Str()
		if messageRoles[role] == "" {
			v.Invalid("must be one of system, developer, user, assistant, tool, got %.60q", role)
		}
	}
	m := chat.Message{Role: messageRoles[role], Name: o.Str("name")}
	if m.Role == chat.RoleAssistant {
		m.ToolCalls = readCalls(o)
		for _, c := range m.ToolCalls {
			calls.Made(c.ID)
		}
		m.Reasoning = o.Str("reasoning_content")
		if r := o.Str("reasoning"); m.Reasoning == "" {
			m.Reasoning = r
		}
	}
	if m.Role == chat.RoleTool {
		m.ToolCallID = o.Str("tool_call_id")
		if role == "tool" {
			if v, ok := o.Need("tool_call_id"); ok && !calls.MayHave(m.ToolCallID) {
				v.Invalid("is %.140q, which no tool_calls of an assistant message before it have as id; a result follows the message with its call", m.ToolCallID)
			}
		}
	}
	readContent(o, &m)
	return m
}

func readContent(o *body.Object, m *chat.Message) {
	v, ok := o.Get("content")
	if !ok {
		refusal := ""
		if m.Role == chat.RoleAssistant {
			refusal = o.Str("refusal")
		}
		switch {
		case refusal != "":
			m.Text = refusal
		case len(m.ToolCalls) > 0:
			m.NoContent = true
		case m.Reasoning != "":
		default:
			o.Need("content")
		}
		return
	}
	switch v.Kind() {
	case '"':
		m.Text = v.Str()
	case '[':
		for item := range v.Items() {
			if p := item.Object(); p != nil {
				m.Parts = append(m.Parts, readPart(p, m.Role))
			}
		}
		// A tool may have an empty result.
		if m.Parts == nil && len(m.ToolCalls) == 0 && m.Role != chat.RoleTool {
			v.Invalid("must have at least one part")
		}
		m.NoContent = m.Parts == nil && m.Role == chat.RoleAssistant
	default:
		v.Wrong("a string or an array of parts")
	}
}

func readPart(o *body.Object, role string) chat.Part {
	v, ok := o.Need("type")
	if !ok {
		return chat.Part{}
	}
	field := v.Str()
	switch {
	case field == "text", field == "refusal" && role == chat.RoleAssistant:
		if t, ok := o.Need(field); ok {
			return chat.Part{Text: t.Str()}
		}
	case slices.Contains([]string{"image_url", "input_audio", "file", "video_url", "image", "audio"}, field):
		o.Refuse(fault.CodeUnsupportedContent, o.Path(), "%s is of type %s, which this server does not take; send text", o.Path(), field)
	default:
		v.Invalid("must be text, got %.60q", field)
	}
	return chat.Part{}
}

// readCalls reads the calls an assistant message made, in the present form and
// in the one from before tools.
func readCalls(o *body.Object) []chat.Call {
	var calls []chat.Call
	for item := range o.Items("tool_calls") {
		c := item.Object()
		if c == nil {
			return nil
		}
		call := chat.Call{ID: c.Str("id")}
		if t := c.Str("type"); t != "" && t != "function" {
			c.Refuse(fault.CodeUnsupportedContent, c.Path(), "%s is of type %.60q; only function calls are supported", c.Path(), t)
		}
		if v, ok := c.Need("function"); ok {
			readCall(v.Object(), &call)
		}
		calls = append(calls, call)
	}
	if f := o.Object("function_call"); f != nil && calls == nil {
		var call chat.Call
		readCall(f, &call)
		calls = append(calls, call)
	}
	return calls
}

func readCall(f *body.Object, call *chat.Call) {
	if f == nil {
		return
	}
	if v, ok := f.Need("name"); ok {
		call.Name = v.Str()
	}
	v, ok := f.Get("arguments")
	switch {
	case !ok:
		call.Arguments = "{}"
	case v.Kind() == '{': // not yet a string, as some clients keep it
		call.Arguments = string(v.Raw)
	default:
		call.Arguments = v.Str()
	}
}
