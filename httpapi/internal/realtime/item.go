package realtime

import (
	"slices"
	"strings"
	"time"

	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
)

// The kinds of items.
const (
	itemMessage = "message"
	itemCall    = "function_call"
	itemOutput  = "function_call_output"
)

// What an item's status may be.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
)

// An item is a piece of a conversation. A session's own goroutine alone touches it.
type item struct {
	id, kind, status string

	role  string // of a message
	parts []part // of a message

	callID, name, text string // of calls, whose arguments text is, and of outputs

	// Of sound: written is closed when it is transcribed. What follows is set before.
	written chan struct{}
	ended   time.Time // the turn
	known   time.Time // its text
	failure *fault.Error
}

// A part is a content of a message.
type part struct {
	kind  string // input_text, input_audio, output_text or output_audio
	text  string // what it says, or what is said in it
	known bool   // whether text is: sound may not be transcribed yet
	marks []mark // of output_audio, in order
	ms    int    // of sound in it
}

// A mark says how far a text was spoken at a time of its sound.
type mark struct{ ms, end int }

// newItem makes an item; id "" is a new one.
func newItem(id, kind string) *item {
	if id == "" {
		id = reqlog.NewID("item_")
	}
	return &item{id: id, kind: kind, status: completed}
}

// spell is the item as clients see it.
func (it *item) spell(beta bool) any {
	out := object{"id": it.id, "object": "realtime.item", "type": it.kind, "status": it.status}
	switch it.kind {
	case itemMessage:
		content := make([]any, len(it.parts))
		for i := range it.parts {
			content[i] = it.parts[i].spell(beta)
		}
		out["role"], out["content"] = it.role, content
	case itemCall:
		out["call_id"], out["name"], out["arguments"] = it.callID, it.name, it.text
	case itemOutput:
		out["call_id"], out["output"] = it.callID, it.text
	}
	return out
}

func (p *part) spell(beta bool) object {
	kind := p.kind
	if name, other := betaTypes[kind]; other && beta {
		kind = name
	}
	if p.kind == "input_audio" || p.kind == "output_audio" {
		out := object{"type": kind, "transcript": null}
		if p.known {
			out["transcript"] = p.text
		}
		return out
	}
	return object{"type": kind, "text": p.text}
}

// size is the memory an item counts as.
func (it *item) size() int {
	n := 200 + len(it.text) + len(it.name)
	for i := range it.parts {
		n += 100 + len(it.parts[i].text) + 16*len(it.parts[i].marks)
	}
	return n
}

// words are what a message says.
func (it *item) words() string {
	var b strings.Builder
	for i := range it.parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(it.parts[i].text)
	}
	return b.String()
}

// messages spell items as a prompt.
func messages(instructions string, items []*item) []chat.Message {
	var c ask.Conversation
	if instructions != "" {
		c.Say(chat.Message{Role: chat.RoleSystem, Text: instructions})
	}
	for _, it := range items {
		switch it.kind {
		case itemMessage:
			if text := it.words(); strings.TrimSpace(text) != "" {
				c.Say(chat.Message{Role: it.role, Text: text})
			}
		case itemCall:
			c.Call(chat.Call{ID: it.callID, Name: it.name, Arguments: it.text})
		case itemOutput:
			c.Output(it.callID, it.text)
		}
	}
	return c.Messages
}

// maxID bounds the ids clients choose, in bytes.
const maxID = 128

// roles are those of messages, with the contents they may have.
var roles = map[string][]string{
	chat.RoleSystem:    {"input_text"},
	chat.RoleUser:      {"input_text", "input_audio"},
	chat.RoleAssistant: {"output_text", "output_audio", "text", "audio"},
}

// readItem reads an item. Its sound, in base64, is returned beside it.
func readItem(v body.Value) (it *item, sound []string) {
	o := v.Object()
	if o == nil {
		return nil, nil
	}
	kind, ok := o.Need("type")
	if !ok {
		return nil, nil
	}
	id := o.Str("id")
	if len(id) > maxID {
		o.Refuse(fault.CodeTooLong, "item.id", "item.id has %d bytes; the limit is %d", len(id), maxID)
	}
	o.Str("object")
	o.OneOf("status", completed, incomplete, inProgress)
	it = newItem(id, kind.Str())
	need := func(name string) string {
		if v, ok := o.Need(name); ok {
			return v.Str()
		}
		return ""
	}
	switch it.kind {
	case itemMessage:
		sound = readMessage(o, it)
	case itemCall:
		it.name, it.text, it.callID = need("name"), need("arguments"), o.Str("call_id")
		if it.callID == "" {
			it.callID = reqlog.NewID("call_")
		}
	case itemOutput:
		it.callID, it.text = need("call_id"), need("output")
	case "mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
		kind.Refuse(fault.CodeUnsupportedContent, kind.Path(), "%s is %s: MCP is not supported; call tools yourself and send function_call_output", kind.Path(), it.kind)
	default:
		kind.Invalid("must be message, function_call or function_call_output, got %.60q", it.kind)
	}
	return it, sound
}

func readMessage(o *body.Object, it *item) (sound []string) {
	role, ok := o.Need("role")
	if !ok {
		return nil
	}
	if it.role = role.Str(); it.role == "developer" {
		it.role = chat.RoleSystem
	}
	kinds, ok := roles[it.role]
	if !ok {
		role.Invalid("must be system, user or assistant, got %.60q", it.role)
		return nil
	}
	content, ok := o.Need("content")
	if !ok {
		return nil
	}
	for v := range content.Items() {
		p := v.Object()
		if p == nil {
			return nil
		}
		kind, ok := p.Need("type")
		if !ok {
			return nil
		}
		out := part{kind: kind.Str(), known: true}
		switch {
		case out.kind == "input_image":
			kind.Refuse(fault.CodeUnsupportedContent, kind.Path(), "%s is input_image, which this server does not take; send text or sound", kind.Path())
			return nil
		case !slices.Contains(kinds, out.kind):
			kind.Invalid("must be one of %s in a message of role %s, got %.60q", strings.Join(kinds, ", "), it.role, out.kind)
			return nil
		}
		for name, old := range betaTypes {
			if out.kind == old {
				out.kind = name
			}
		}
		switch out.kind {
		case "input_audio", "output_audio":
			out.text = p.Str("transcript")
			if out.kind == "input_audio" && out.text == "" {
				if b, ok := p.Need("audio"); ok {
					out.known = false
					sound = append(sound, b.Str())
				}
			}
		default:
			if t, ok := p.Need("text"); ok {
				out.text = t.Str()
			}
		}
		it.parts = append(it.parts, out)
	}
	if len(it.parts) == 0 {
		content.Invalid("must have at least one part")
	}
	if len(sound) > 1 {
		content.Invalid("must have at most one part of input_audio without a transcript")
	}
	return sound
}

// truncate cuts what is said to the words that were heard until a time of the sound.
func (p *part) truncate(ms int) {
	end := 0
	for _, m := range p.marks {
		if m.ms > ms {
			break
		}
		end = m.end
	}
	p.text = p.text[:min(end, len(p.text))]
	p.ms = min(p.ms, ms)
	p.marks = slices.DeleteFunc(p.marks, func(m mark) bool { return m.ms > ms })
}
