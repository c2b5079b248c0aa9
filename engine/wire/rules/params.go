package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"quern/engine/grammar"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
)

// plain are the keywords of an object that tagged arguments can keep to; the
// others describe members together.
var plain = []string{"type", "properties", "required", "additionalProperties", "description", "title", "default", "examples",
	"$schema", "$id", "$comment", "$defs", "definitions", "strict"}

// params are the arguments one after another, in the order of the schema.
func (m *maker) params(tool wire.Tool) (*grammar.Node, error) {
	b := m.b
	root, names, properties, required, err := m.declared(tool)
	if err != nil {
		return nil, err
	}
	if strings.Count(string(m.f.Param), "«key»") > 1 && len(names) == 0 {
		m.notes = append(m.notes, m.f.Name+" names an argument twice, so that "+tool.Name+" takes only declared ones")
		return b.Seq(), nil
	}
	if len(names) == 0 && string(root["additionalProperties"]) != "false" {
		any, err := m.param("", nil, nil, wire.Tool{})
		if err != nil {
			return nil, err
		}
		return b.Repeat(any, 0, 64), nil
	}
	var parts []*grammar.Node
	for i, name := range names {
		n, err := m.param(name, root, properties[i], tool)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(required, name) {
			n = b.Opt(n)
		}
		parts = append(parts, n)
	}
	return b.Seq(parts...), nil
}

// members are the arguments between brackets, parted by commas, as Python and
// Gemma have them. Their values are JSON, which readers of both take, but for
// what stands alone: words of Python, and strings between Gemma's quotes.
func (m *maker) members(tool wire.Tool, open, is, end, sep string) (*grammar.Node, error) {
	b := m.b
	root, names, properties, required, err := m.declared(tool)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && string(root["additionalProperties"]) != "false" {
		value := schema.AddValue(b, m.name("any"))
		one := b.Seq(b.Lexeme(anyKey), b.Literal(is), value)
		return b.Seq(b.Literal(open), b.Opt(b.Seq(one, b.Repeat(b.Seq(b.Literal(sep), one), 0, 63))), b.Literal(end)), nil
	}
	// What may follow when none, and when some were written.
	none, some := b.Seq(), b.Seq()
	for i := len(names) - 1; i >= 0; i-- {
		value, err := m.member(names[i], root, properties[i], tool)
		if err != nil {
			return nil, err
		}
		one := b.Seq(b.Literal(names[i]), b.Literal(is), value)
		first, next := b.Seq(one, some), b.Seq(b.Literal(sep), one, some)
		if slices.Contains(required, names[i]) {
			none, some = first, next
		} else {
			none, some = b.Alt(none, first), b.Alt(some, next)
		}
	}
	return b.Seq(b.Literal(open), none, b.Literal(end)), nil
}

// member is the value of an argument between brackets.
func (m *maker) member(name string, root map[string]json.RawMessage, property json.RawMessage, tool wire.Tool) (*grammar.Node, error) {
	b := m.b
	types := tool.Types(name)
	if len(types) == 0 {
		types = []string{"string", "number", "boolean", "null", "object", "array"}
	}
	var ways []*grammar.Node
	if i := slices.Index(types, "string"); m.f.Dialect == wire.Gemma && i >= 0 {
		types = slices.Delete(slices.Clone(types), i, i+1)
		quotes := m.f.Quotes
		n, err := m.rawString(name, property, []wire.Element{{Text: quotes}})
		if err != nil {
			return nil, err
		}
		ways = append(ways, b.Seq(m.text(quotes), n, m.text(quotes)))
	}
	if len(types) > 0 {
		n, err := m.paramJSON(types, root, property)
		if err != nil {
			return nil, err
		}
		ways = append(ways, n)
	}
	var s map[string]json.RawMessage
	_ = json.Unmarshal(property, &s)
	if m.f.Dialect == wire.Python && s["enum"] == nil && s["const"] == nil {
		if slices.Contains(types, "boolean") {
			ways = append(ways, b.Choice("True", "False"))
		}
		if slices.Contains(types, "null") {
			ways = append(ways, b.Literal("None"))
		}
	}
	return b.Alt(ways...), nil
}

// declared are the arguments a schema declares. Keywords that describe them
// together are refused.
func (m *maker) declared(tool wire.Tool) (root map[string]json.RawMessage, names []string, properties []json.RawMessage, required []string, err error) {
	if len(tool.Parameters) > 0 {
		if err := json.Unmarshal(tool.Parameters, &root); err != nil {
			return nil, nil, nil, nil, &schema.Error{Reason: "the parameters of " + tool.Name + " are no object: " + err.Error()}
		}
	}
	for key := range root {
		if !slices.Contains(plain, key) {
			return nil, nil, nil, nil, &schema.Error{Pointer: "/" + key, Keyword: key, Reason: key + " of an object cannot be enforced in arguments as they are written by " + m.f.Name}
		}
	}
	_ = json.Unmarshal(root["required"], &required)
	names, properties, err = ordered(root["properties"])
	if err != nil {
		return nil, nil, nil, nil, &schema.Error{Pointer: "/properties", Keyword: "properties", Reason: err.Error()}
	}
	for _, name := range names {
		if name == "" || !m.reads(name, "x") {
			return nil, nil, nil, nil, &schema.Error{Pointer: pointer(name), Keyword: "properties", Reason: "the name of this argument cannot be written as one by " + m.f.Name}
		}
	}
	return root, names, properties, required, nil
}

// param is one argument; of any name if that is empty.
func (m *maker) param(name string, root map[string]json.RawMessage, property json.RawMessage, tool wire.Tool) (*grammar.Node, error) {
	b := m.b
	elements := m.f.Param.Elements()
	types := tool.Types(name)
	if len(types) == 0 {
		types = []string{"string", "number", "boolean", "null", "object", "array"}
	}
	// One way of writing the argument for each thing a tag can say of it.
	type way struct {
		tag   string
		types []string
	}
	var ways []way
	switch words := m.f.Types; {
	case words[0] == "" && slices.Contains(types, "string"):
		ways = []way{{"", []string{"string"}}} // any text is one
	case words[0] == "":
		ways = []way{{"", types}}
	default:
		var others []string
		for _, t := range types {
			switch {
			case t == "string":
				ways = append(ways, way{words[0], []string{t}})
			case words[1] == "":
				ways = append(ways, way{t, []string{t}})
			default:
				others = append(others, t)
			}
		}
		if others != nil {
			ways = append(ways, way{words[1], others})
		}
	}
	var out []*grammar.Node
	for _, w := range ways {
		var parts []*grammar.Node
		for i, e := range elements {
			switch e.Kind {
			case wire.Literal:
				if e.Optional { // an attribute
					parts = append(parts, b.Literal(e.Text))
					continue
				}
				parts = append(parts, m.text(e.Text))
			case wire.Key:
				if name != "" {
					parts = append(parts, b.Literal(name))
				} else {
					parts = append(parts, b.Lexeme(anyKey))
				}
			case wire.Type:
				parts = append(parts, b.Literal(w.tag))
			case wire.Value:
				n, err := m.paramValue(name, w.types, root, property, elements[i+1:])
				if err != nil {
					return nil, err
				}
				parts = append(parts, n)
			default:
				return nil, fmt.Errorf("%s: %w", m.f.Name, ErrUnsupported)
			}
		}
		out = append(out, b.Seq(parts...))
	}
	return b.Alt(out...), nil
}

// anyKey is the name of an argument that no schema names.
var anyKey = grammar.Repeat(grammar.Chars(grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'}, grammar.RuneRange{Lo: 'A', Hi: 'Z'},
	grammar.RuneRange{Lo: 'a', Hi: 'z'}, grammar.RuneRange{Lo: '_', Hi: '_'}, grammar.RuneRange{Lo: '-', Hi: '-'})), 1, 64)

// paramValue is a value of some types. Strings stand as they are, up to the
// closing tag.
func (m *maker) paramValue(name string, types []string, root map[string]json.RawMessage, property json.RawMessage, rest []wire.Element) (*grammar.Node, error) {
	if types[0] == "string" {
		return m.rawString(name, property, rest)
	}
	return m.paramJSON(types, root, property)
}

// paramJSON is a value of some types as JSON.
func (m *maker) paramJSON(types []string, root map[string]json.RawMessage, property json.RawMessage) (*grammar.Node, error) {
	if property == nil {
		property = json.RawMessage("{}")
	}
	document := map[string]any{"allOf": []json.RawMessage{property}, "type": types}
	for _, key := range []string{"$defs", "definitions", "$schema"} {
		if root[key] != nil {
			document[key] = root[key]
		}
	}
	src, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return m.schema(src)
}

// rawString is a string as it stands there. Of what schemas demand of strings
// only lists of values are kept to; the notes name the others.
func (m *maker) rawString(name string, property json.RawMessage, rest []wire.Element) (*grammar.Node, error) {
	var s map[string]json.RawMessage
	_ = json.Unmarshal(property, &s)
	var values []string
	if json.Unmarshal(s["enum"], &values) == nil && len(values) > 0 {
		return m.oneOf(name, "enum", values)
	}
	var one string
	if json.Unmarshal(s["const"], &one) == nil {
		return m.oneOf(name, "const", []string{one})
	}
	for _, key := range []string{"pattern", "minLength", "maxLength", "format"} {
		if s[key] != nil {
			m.notes = append(m.notes, fmt.Sprintf("%s of %s is not enforced: %s writes strings as they are", key, name, m.f.Name))
		}
	}
	end := ""
	for _, e := range rest {
		if e.Kind == wire.Key {
			end += name
		}
		end += e.Text
	}
	if end = strings.Trim(end, " \n"); end == "" || m.hasToken(end) {
		return m.b.Text(), nil
	}
	return m.b.Text(end), nil
}

// ordered are the members of an object in its order.
func ordered(object json.RawMessage) (names []string, values []json.RawMessage, err error) {
	if len(object) == 0 {
		return nil, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("properties are no object")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, nil, err
		}
		names, values = append(names, t.(string)), append(values, v)
	}
	return names, values, nil
}
