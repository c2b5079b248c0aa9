package chat

import (
	"context"
	"crypto/sha256"
	"io"
	"strings"

	"quern/engine/chat/internal/jinja"
)

// A shape is how a template takes the content of one role's messages.
type shape uint8

const (
	shapeString shape = iota // a string only
	shapeParts               // a list of parts only
	shapeEither              // as the client sent it
)

// A beside is the content beside tool calls if there is no text.
type beside uint8

const (
	besideAsSent beside = iota
	besideString        // ""
	besideNone
)

// wants is the message shapes that a template takes.
type wants struct {
	content    map[string]shape // by role; the zero shape where nothing was found out
	stringArgs bool             // a tool call's arguments as the JSON string, not as an object
	beside     beside           // the content of a message that only calls tools
	shortIDs   bool             // tool-call ids of nine letters and digits
	omitNone   bool             // tools and documents undefined, not None, where there are none
}

// text is the content as one string. Parts are joined with nothing between.
func (m *Message) text() string {
	if m.Parts == nil {
		return m.Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// message builds the dict a template sees, with its keys in the order in which
// the OpenAI API documents them. Text has the given origin.
func (w *wants) message(ctx context.Context, m Message, origin jinja.Origin) jinja.Value {
	d := jinja.NewDict().Set("role", jinja.Text(m.Role))
	d.Set("content", w.contentOf(m, origin))
	set := func(key, text string) {
		if text != "" {
			d.Set(key, jinja.TextFrom(text, jinja.Outside))
		}
	}
	set("name", m.Name)
	set("reasoning_content", m.Reasoning)
	if len(m.ToolCalls) > 0 {
		calls := make([]jinja.Value, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = w.call(ctx, c)
		}
		d.Set("tool_calls", jinja.NewList(calls...))
	}
	set("tool_call_id", w.callID(m.ToolCallID))
	return d
}

func (w *wants) contentOf(m Message, origin jinja.Origin) jinja.Value {
	if len(m.Parts) == 0 && m.Text == "" {
		calls := len(m.ToolCalls) > 0
		if m.NoContent && w.beside != besideString || calls && w.beside == besideNone {
			return jinja.None
		}
	}
	s := w.content[m.Role]
	if s == shapeString || s == shapeEither && m.Parts == nil {
		return jinja.TextFrom(m.text(), origin)
	}
	parts := m.Parts
	if parts == nil {
		parts = []Part{{Text: m.Text}}
	}
	list := make([]jinja.Value, len(parts))
	for i, p := range parts {
		list[i] = jinja.NewDict().Set("type", jinja.Text("text")).Set("text", jinja.TextFrom(p.Text, origin))
	}
	return jinja.NewList(list...)
}

// call builds a tool call. Arguments arrive as a JSON string, but templates
// call tojson on them, so they are parsed. What does not parse, or parses to
// something else than an object, stays the string it was.
func (w *wants) call(ctx context.Context, c Call) jinja.Value {
	text := c.arguments()
	var args jinja.Value = jinja.TextFrom(text, jinja.Outside)
	if !w.stringArgs {
		if v, err := fromJSON(ctx, []byte(text)); err == nil {
			if object, ok := v.(*jinja.Dict); ok {
				args = object
			}
		}
	}
	d := jinja.NewDict()
	if id := w.callID(c.ID); id != "" {
		d.Set("id", jinja.TextFrom(id, jinja.Outside))
	}
	return d.Set("type", jinja.Text("function")).Set("function", jinja.NewDict().
		Set("name", jinja.TextFrom(c.Name, jinja.Outside)).
		Set("arguments", args))
}

// fromJSON reads a client's JSON, until ctx ends.
func fromJSON(ctx context.Context, text []byte) (jinja.Value, error) {
	return jinja.ReadJSON(&pausing{ctx, text}, jinja.Outside)
}

// A pausing reader hands out a little at a time, and asks before whether to go
// on.
type pausing struct {
	ctx  context.Context
	rest []byte
}

func (p *pausing) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 4096)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// shortID is the length of a tool-call id where length matters.
const shortID = 9

// callID returns id, or nine letters and digits that stand for it if the
// template wants those. The same id always gets the same ones, so that calls
// and results still match.
func (w *wants) callID(id string) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	other := func(r rune) bool { return r >= 0x80 || !strings.ContainsRune(alphabet, r) }
	if !w.shortIDs || id == "" || len(id) == shortID && strings.IndexFunc(id, other) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, shortID)
	for i := range short {
		short[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(short)
}
