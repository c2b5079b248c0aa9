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
// An argument may be of types, a string among them.
func (m *maker) reads(key, value string, types ...string) bool {
	of, _ := json.Marshal(types) // strings
	parameters := json.RawMessage(fmt.Sprintf(`{"properties":{%s:{"type":%s}}}`, quote(key), of))
	got, err := m.again(wire.Call{ID: "0", Name: "f", Arguments: "{" + quote(key) + ":" + quote(value) + "}"}, parameters)
	var args map[string]any
	return err == nil && len(got) == 1 && json.Unmarshal([]byte(got[0].Arguments), &args) == nil && len(args) == 1 && args[key] == value
}

// readsName reports whether a call of a tool is read as one of it: in some formats names stand
// where other words have a meaning.
func (m *maker) readsName(name string) bool {
	id := "0"
	if m.f.ID == wire.IDNamed {
		id = "functions." + name + ":0"
	}
	got, err := m.again(wire.Call{ID: id, Name: name, Arguments: `{}`}, nil)
	return err == nil && len(got) == 1 && got[0].Name == name
}

// again are the calls that are read where one is written.
func (m *maker) again(call wire.Call, parameters json.RawMessage) ([]wire.Call, error) {
	text, err := m.f.Write([]wire.Call{call})
	if err != nil {
		return nil, err
	}
	if m.syntax == nil {
		m.syntax = wire.NewSyntax(m.f, nil)
	}
	o := wire.Options{Tools: []wire.Tool{{Name: call.Name, Parameters: parameters}}}
	if m.f.Channel != nil {
		o.Prompt = m.f.Channel.Start
	}
	r := m.syntax.NewReader(o)
	events := append([]wire.Event(nil), r.Write([]byte(text))...)
	return wire.Collect(append(events, r.Close()...)).Calls, nil
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string
	return string(b)
}

// pointer is a JSON Pointer to the schema of an argument; "" is any that is not declared.
func pointer(name string) string {
	if name == "" {
		return "/additionalProperties"
	}
	return "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// oneOf is one of the values of an argument that can be read, nil if there are none and the
// argument may be of another type. Others are in the notes.
func (m *maker) oneOf(name, keyword string, values, types []string) (*grammar.Node, error) {
	var kept []string
	for _, v := range values {
		if m.reads(name, v, types...) {
			kept = append(kept, v)
		}
	}
	switch {
	case kept == nil && len(types) > 1:
		return nil, nil
	case kept == nil:
		return nil, &schema.Error{Pointer: pointer(name) + "/" + keyword, Keyword: keyword, Reason: "the value cannot be written between the tags of " + m.f.Name}
	case len(kept) < len(values):
		m.notes = append(m.notes, fmt.Sprintf("%s of %s: %d values are left out, which cannot be written between the tags of %s", keyword, name, len(values)-len(kept), m.f.Name))
	}
	return m.b.Choice(kept...), nil
}
