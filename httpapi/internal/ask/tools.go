package ask

import (
	"bytes"
	"cmp"
	"slices"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// Tools are the functions a reply may call, each under a name of its own.
type Tools struct {
	Longest int         // of the names; 0 is as in most dialects
	List    []chat.Tool // as chats spell them
	names   []string
}

// Len is how many there are.
func (t *Tools) Len() int { return len(t.names) }

// Has reports whether one of them has a name.
func (t *Tools) Has(name string) bool { return slices.Contains(t.names, name) }

// Read calls add for each tool of a request, up to the limit.
func (t *Tools) Read(o *body.Object, add func(*body.Object)) {
	list, ok := o.Get("tools")
	if !ok {
		return
	}
	for item := range list.Items() {
		if len(t.names) == chat.MaxTools {
			list.Invalid("must have at most %d entries", chat.MaxTools)
			return
		}
		if tool := item.Object(); tool != nil {
			add(tool)
		}
	}
}

// Add takes the tool that f describes, by name, description and the schema of its arguments
// in the member called schema. raw is the whole tool as chats spell it.
func (t *Tools) Add(f *body.Object, schema string, raw []byte) {
	f.Str("description")
	f.Boolean("strict", false)
	if p, ok := f.Get(schema); ok {
		if s := p.Object(); s != nil {
			if kind, ok := s.Get("type"); ok && (kind.Kind() != '"' || kind.Str() != "object") {
				kind.Invalid("must be \"object\": a call's arguments are one")
			}
		}
	}
	name, ok := f.Need("name")
	if !ok {
		return
	}
	text := name.Str()
	longest := cmp.Or(t.Longest, chat.MaxToolName)
	switch {
	case !chat.ToolName().MatchString(text) || len(text) > longest:
		name.Invalid("must be 1 to %d letters, digits, _ and -, got %.150q", longest, text)
	case t.Has(text):
		name.Invalid("is the name of another tool: %q", text)
	}
	t.names = append(t.names, text)
	t.List = append(t.List, chat.Tool{Raw: bytes.Clone(raw), Param: f.Path() + "." + schema})
}

// Function spells a tool as chats do whose members are not in an object of their own. Names
// maps members to those chats have for them; "" leaves one out.
func Function(f *body.Object, names map[string]string) []byte {
	out := []byte(`{"type":"function","function":{`)
	first := true
	for m := range f.Members() {
		name := m.Name
		if other, ok := names[name]; ok {
			name = other
		}
		if name == "" {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(server.AppendString(out, name), ':')
		out = append(out, m.Raw...)
	}
	return append(out, "}}"...)
}

// Named reads the name of one of the tools.
func (t *Tools) Named(v body.Value) string {
	name := v.Str()
	if !t.Has(name) {
		v.Invalid("must be the name of one of tools, got %.80q", name)
	}
	return name
}

// Choose returns the tools of a prompt and how they may be called, in a request that says
// choice: none without tools. One that demands a call needs some.
func (t *Tools) Choose(o *body.Object, choice engine.ToolChoice) ([]chat.Tool, engine.ToolChoice) {
	if len(t.names) > 0 {
		return t.List, choice
	}
	if choice.Required {
		o.Refuse(engine.CodeInvalidValue, "tool_choice", "tool_choice needs tools to choose from")
	}
	return nil, engine.ToolChoice{}
}
