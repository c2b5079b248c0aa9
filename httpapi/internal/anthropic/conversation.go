package anthropic

import (
	"strings"

	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// readConversation reads system and messages; the array must be there and not empty.
func readConversation(o *body.Object) []chat.Message {
	var out []chat.Message
	if v, ok := o.Get("system"); ok {
		if m := readSystem(v); m.Text != "" || m.Parts != nil {
			out = append(out, m)
		}
	}
	v, ok := o.Need("messages")
	if !ok {
		return nil
	}
	n := 0
	var calls ask.Calls
	for item := range v.Items() {
		n++
		if m := item.Object(); m != nil {
			out = append(out, readMessage(m, &calls)...)
		}
	}
	if n == 0 && v.Ok() {
		v.Invalid("must have at least one message")
	}
	return out
}

// billing begins a block that Claude Code puts before its system prompt. It names for the vendor
// the account that pays and differs in each conversation, so that no two would share a cached prefix.
const billing = "x-anthropic-billing-header:"

func readSystem(v body.Value) chat.Message {
	m := chat.Message{Role: chat.RoleSystem}
	if v.Kind() == '"' {
		m.Text = v.Str()
		return m
	}
	var said text
	for item := range blocks(v) {
		if t := item.block.OneOf("type", "text"); t != "" {
			said.add(item.block)
		}
	}
	for i, p := range said.parts {
		if strings.HasPrefix(p.Text, billing) {
			said.parts = append(said.parts[:i:i], said.parts[i+1:]...)
			break
		}
	}
	said.to(&m)
	return m
}

// A text collects blocks of text.
type text struct{ parts []chat.Part }

func (t *text) add(block *body.Object) {
	if v, ok := block.Need("text"); ok {
		t.parts = append(t.parts, chat.Part{Text: v.Str()})
	}
}

// to makes the blocks the content of m.
func (t *text) to(m *chat.Message) {
	switch len(t.parts) {
	case 0:
	case 1:
		m.Text = t.parts[0].Text
	default:
		m.Parts = t.parts
	}
}

// A block is one of a content, with its type.
type block struct {
	kind  string
	block *body.Object
}

// blocks yields the blocks of an array, which have types.
func blocks(v body.Value) func(func(block) bool) {
	return func(yield func(block) bool) {
		if v.Kind() != '[' {
			v.Wrong("a string or an array of blocks")
			return
		}
		for item := range v.Items() {
			o := item.Object()
			if o == nil {
				return
			}
			t, ok := o.Need("type")
			if !ok || !yield(block{t.Str(), o}) {
				return
			}
		}
	}
}

// refuse refuses a block that is not allowed in its place.
func (b block) refuse(takes string) {
	b.block.Refuse(fault.CodeUnsupportedContent, b.block.Path(), "%s is of type %.60q, which this server does not take there; send %s", b.block.Path(), b.kind, takes)
}

// readMessage reads a turn, which is several messages where it has results of tools:
// those come before the user's text, and behind the turns that made calls.
func readMessage(o *body.Object, calls *ask.Calls) []chat.Message {
	o.Need("role")
	role := o.OneOf("role", chat.RoleUser, chat.RoleAssistant)
	v, ok := o.Need("content")
	if !ok {
		return nil
	}
	m := chat.Message{Role: role}
	if v.Kind() == '"' {
		m.Text = v.Str()
		return []chat.Message{m}
	}
	if role == chat.RoleAssistant {
		readAnswer(v, &m)
		for _, c := range m.ToolCalls {
			calls.Made(c.ID)
		}
		return []chat.Message{m}
	}
	var said text
	var out []chat.Message
	for b := range blocks(v) {
		switch b.kind {
		case "text":
			said.add(b.block)
		case "tool_result":
			out = append(out, readResult(b.block, calls))
		default:
			b.refuse("text and tool_result")
		}
	}
	if len(out) == 0 && said.parts == nil && v.Ok() {
		v.Invalid("must have at least one block")
	}
	if said.parts != nil {
		said.to(&m)
		out = append(out, m)
	}
	return out
}

// readAnswer reads the text, thinking and calls of the assistant.
func readAnswer(v body.Value, m *chat.Message) {
	var said text
	var thought []string
	n := 0
	for b := range blocks(v) {
		n++
		switch b.kind {
		case "text":
			said.add(b.block)
		case "thinking":
			if t, ok := b.block.Need("thinking"); ok {
				thought = append(thought, t.Str())
			}
		case "redacted_thinking": // of another server, which alone can decode it
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, readUse(b.block))
		default:
			b.refuse("text, thinking and tool_use")
		}
	}
	if n == 0 && v.Ok() {
		v.Invalid("must have at least one block")
	}
	m.Reasoning = strings.Join(thought, "\n\n")
	m.NoContent = said.parts == nil
	said.to(m)
}

func readUse(o *body.Object) chat.Call {
	call := chat.Call{Arguments: "{}"}
	if v, ok := o.Need("id"); ok {
		call.ID = v.Str()
	}
	if v, ok := o.Need("name"); ok {
		call.Name = v.Str()
	}
	if v, ok := o.Need("input"); ok {
		if v.Kind() != '{' {
			v.Wrong("an object")
		}
		call.Arguments = string(v.Raw)
	}
	return call
}

func readResult(o *body.Object, calls *ask.Calls) chat.Message {
	m := chat.Message{Role: chat.RoleTool}
	if v, ok := o.Need("tool_use_id"); ok {
		if m.ToolCallID = v.Str(); !calls.MayHave(m.ToolCallID) {
			v.Invalid("is %.140q, which no tool_use block before it has as id; a result follows the turn with its call", m.ToolCallID)
		}
	}
	o.Boolean("is_error", false) // the content says so too
	v, ok := o.Get("content")
	switch {
	case !ok:
	case v.Kind() == '"':
		m.Text = v.Str()
	default:
		var said text
		for b := range blocks(v) {
			if b.kind == "text" {
				said.add(b.block)
				continue
			}
			b.refuse("text")
		}
		said.to(&m)
	}
	return m
}
