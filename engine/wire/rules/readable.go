package rules

import (
	"encoding/json"
	"fmt"
	"strings"

	"quern/engine/grammar"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
)

// reads reports whether a call with one argument is read as it is written. Names and strings
// that stand between tags as they are may hold what ends them, or blanks that do not count.
// Markers are asked for as text: as special tokens they are never part of a name.
func (m *maker) reads(key, value string) bool {
	name := json.RawMessage(fmt.Sprintf(`{"properties":{%s:{"type":"string"}}}`, quote(key)))
	text, err := m.f.Write([]wire.Call{{ID: "0", Name: "f", Arguments: "{" + quote(key) + ":" + quote(value) + "}"}})
	if err != nil {
		return false
	}
	if m.syntax == nil {
		m.syntax = wire.NewSyntax(m.f, nil)
	}
	o := wire.Options{Tools: []wire.Tool{{Name: "f", Parameters: name}}}
	if m.f.Channel != nil {
		o.Prompt = m.f.Channel.Start
	}
	r := m.syntax.NewReader(o)
	events := append([]wire.Event(nil), r.Write([]byte(text))...)
	got := wire.Collect(append(events, r.Close()...))
	var args map[string]any
	return len(got.Calls) == 1 && json.Unmarshal([]byte(got.Calls[0].Arguments), &args) == nil && len(args) == 1 && args[key] == value
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string
	return string(b)
}

// pointer is a JSON Pointer to the schema of an argument.
func pointer(name string) string {
	return "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// oneOf is one of the values of an argument that can be read. The notes tell of others.
func (m *maker) oneOf(name, keyword string, values []string) (*grammar.Node, error) {
	var kept []string
	for _, v := range values {
		if m.reads(name, v) {
			kept = append(kept, v)
		}
	}
	switch {
	case kept == nil:
		return nil, &schema.Error{Pointer: pointer(name) + "/" + keyword, Keyword: keyword, Reason: "the value cannot be written between the tags of " + m.f.Name}
	case len(kept) < len(values):
		m.notes = append(m.notes, fmt.Sprintf("%s of %s: %d values are left out, which cannot be written between the tags of %s", keyword, name, len(values)-len(kept), m.f.Name))
	}
	return m.b.Choice(kept...), nil
}
