package httpapi

import (
	"encoding/json"
	"maps"
	"slices"

	"quern/engine/chat"
)

// readMessages reads a conversation; the array must be there and not empty.
func readMessages(o *object) []chat.Message {
	v, ok := o.need("messages")
	if !ok {
		return nil
	}
	out := make([]chat.Message, 0, v.count(maxObjects))
	for item := range v.items() {
		if m := item.object(); m != nil {
			out = append(out, readMessage(m))
		}
	}
	if len(out) == 0 && v.p.err == nil {
		v.invalid("must have at least one message")
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

func readMessage(o *object) chat.Message {
	role := ""
	if v, ok := o.need("role"); ok {
		role = v.str()
		if messageRoles[role] == "" {
			v.invalid("must be one of system, developer, user, assistant, tool, got %.60q", role)
		}
	}
	m := chat.Message{Role: messageRoles[role], Name: o.str("name")}
	if m.Role == chat.RoleAssistant {
		m.ToolCalls = readCalls(o)
		m.Reasoning = o.str("reasoning_content")
		if r := o.str("reasoning"); m.Reasoning == "" {
			m.Reasoning = r
		}
	}
	if m.Role == chat.RoleTool {
		m.ToolCallID = o.str("tool_call_id")
		if role == "tool" {
			o.need("tool_call_id")
		}
	}
	readContent(o, &m)
	return m
}

func readContent(o *object, m *chat.Message) {
	v, ok := o.get("content")
	if !ok {
		refusal := ""
		if m.Role == chat.RoleAssistant {
			refusal = o.str("refusal")
		}
		switch {
		case refusal != "":
			m.Text = refusal
		case len(m.ToolCalls) > 0:
			m.NoContent = true
		case m.Reasoning != "":
		default:
			o.need("content")
		}
		return
	}
	switch v.kind() {
	case '"':
		m.Text = v.str()
	case '[':
		for item := range v.items() {
			if p := item.object(); p != nil {
				m.Parts = append(m.Parts, readPart(p, m.Role))
			}
		}
		if m.Parts == nil && len(m.ToolCalls) == 0 {
			v.invalid("must have at least one part")
		}
		m.NoContent = m.Parts == nil
	default:
		v.wrong("a string or an array of parts")
	}
}

func readPart(o *object, role string) chat.Part {
	v, ok := o.need("type")
	if !ok {
		return chat.Part{}
	}
	field := v.str()
	switch {
	case field == "text", field == "refusal" && role == chat.RoleAssistant:
		if t, ok := o.need(field); ok {
			return chat.Part{Text: t.str()}
		}
	case slices.Contains([]string{"image_url", "input_audio", "file", "video_url", "image", "audio"}, field):
		o.p.set(fail(codeUnsupportedContent, o.path(), "%s is of type %s, which this server does not take; send text", o.path(), field))
	default:
		v.invalid("must be text, got %.60q", field)
	}
	return chat.Part{}
}

// readCalls reads the calls an assistant message made, in the present form and
// in the one from before tools.
func readCalls(o *object) []chat.Call {
	var calls []chat.Call
	for item := range o.items("tool_calls") {
		c := item.object()
		if c == nil {
			return nil
		}
		call := chat.Call{ID: c.str("id")}
		if t := c.str("type"); t != "" && t != "function" {
			c.p.set(fail(codeUnsupportedContent, c.path(), "%s is of type %.60q; only function calls are supported", c.path(), t))
		}
		if v, ok := c.need("function"); ok {
			readCall(v.object(), &call)
		}
		calls = append(calls, call)
	}
	if f := o.object("function_call"); f != nil && calls == nil {
		var call chat.Call
		readCall(f, &call)
		calls = append(calls, call)
	}
	return calls
}

func readCall(f *object, call *chat.Call) {
	if f == nil {
		return
	}
	if v, ok := f.need("name"); ok {
		call.Name = v.str()
	}
	v, ok := f.get("arguments")
	switch {
	case !ok:
		call.Arguments = "{}"
	case v.kind() == '{': // not yet a string, as some clients keep it
		call.Arguments = string(v.raw)
	default:
		call.Arguments = v.str()
	}
}

// maxKwargs bounds what a request sets for the template: a variable takes hundreds of
// bytes there.
const maxKwargs = 256

// readKwargs reads what a request sets for the template. Variables named in
// chat_template_kwargs win over those other fields stand for.
func readKwargs(o *object) map[string]json.RawMessage {
	kw := map[string]json.RawMessage{}
	set := func(name string, v any) {
		kw[name], _ = json.Marshal(v) // booleans, strings and integers
	}
	switch effort := o.oneOf("reasoning_effort", "none", "minimal", "low", "medium", "high", "xhigh", "max"); effort {
	case "":
	case "none":
		set("enable_thinking", false)
	default:
		set("reasoning_effort", effort)
	}
	if t := o.object("thinking"); t != nil {
		set("enable_thinking", t.oneOf("type", "enabled", "disabled", "adaptive") != "disabled")
		if t.has("budget_tokens") {
			set("thinking_budget", t.integer("budget_tokens", 0, 0, 1<<31-1))
		}
	}
	if o.has("enable_thinking") {
		set("enable_thinking", o.boolean("enable_thinking", true))
	}
	maps.Copy(kw, o.free("chat_template_kwargs", maxKwargs))
	if len(kw) == 0 {
		return nil
	}
	return kw
}
