package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"quern/engine/grammar"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
)

// apart are the keywords of an object that arguments can keep to which are written one by one;
// the others describe members together.
var apart = []string{"type", "properties", "required", "additionalProperties"}

// arguments are what a schema declares of those of one tool.
type arguments struct {
	schema     json.RawMessage
	root       map[string]json.RawMessage
	names      []string
	properties []json.RawMessage
	required   []string
	types      func(name string) []string
}

// closed reports whether none but the declared may come.
func (a *arguments) closed() bool {
	return len(a.names) > 0 || string(a.root["additionalProperties"]) == "false"
}

// allTypes are those of JSON.
var allTypes = []string{"string", "number", "boolean", "null", "object", "array"}

// undeclared stands for the name of any argument that is not declared.
const undeclared = " "

// typesOf are those of an argument; "" is any that is not declared.
func (a *arguments) typesOf(name string) []string {
	if types := a.types(cmp.Or(name, undeclared)); len(types) > 0 {
		return types
	}
	return allTypes
}

// params are the arguments one after another, in the order of the schema.
func (m *maker) params(tool wire.Tool) (*grammar.Node, error) {
	b := m.b
	a, err := m.declared(tool)
	if err != nil {
		return nil, err
	}
	if strings.Count(string(m.f.Param), "«key»") > 1 && len(a.names) == 0 {
		m.notes = append(m.notes, m.f.Name+" names an argument twice, so that "+tool.Name+" takes only declared ones")
		return b.Seq(), nil
	}
	if !a.closed() {
		any, err := m.param("", a, a.root["additionalProperties"])
		if err != nil {
			return nil, err
		}
		return b.Repeat(any, 0, 64), nil
	}
	var parts []*grammar.Node
	for i, name := range a.names {
		n, err := m.param(name, a, a.properties[i])
		if err != nil {
			return nil, err
		}
		if !slices.Contains(a.required, name) {
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
	a, err := m.declared(tool)
	if err != nil {
		return nil, err
	}
	if !a.closed() {
		value, err := m.member("", a, a.root["additionalProperties"])
		if err != nil {
			return nil, err
		}
		one := b.Seq(b.Lexeme(anyKey), b.Literal(is), value)
		return b.Seq(b.Literal(open), b.Opt(b.Seq(one, b.Repeat(b.Seq(b.Literal(sep), one), 0, 63))), b.Literal(end)), nil
	}
	// What may follow when none, and when some were written.
	none, some := b.Seq(), b.Seq()
	for i := len(a.names) - 1; i >= 0; i-- {
		name := a.names[i]
		value, err := m.member(name, a, a.properties[i])
		if err != nil {
			return nil, err
		}
		one := b.Seq(b.Literal(name), b.Literal(is), value)
		first, next := b.Seq(one, some), b.Seq(b.Literal(sep), one, some)
		if slices.Contains(a.required, name) {
			none, some = first, next
		} else {
			none, some = b.Alt(none, first), b.Alt(some, next)
		}
	}
	return b.Seq(b.Literal(open), none, b.Literal(end)), nil
}

// member is the value of an argument between brackets.
func (m *maker) member(name string, a *arguments, property json.RawMessage) (*grammar.Node, error) {
	b := m.b
	types := a.typesOf(name)
	var ways []*grammar.Node
	if i := slices.Index(types, "string"); m.f.Dialect == wire.Gemma && i >= 0 {
		types = slices.Delete(slices.Clone(types), i, i+1)
		quotes := m.f.Quotes
		n, _, err := m.rawString(name, a, property, []string{"string"}, []wire.Element{{Text: quotes}})
		if err != nil {
			return nil, err
		}
		if n != nil {
			ways = append(ways, b.Seq(m.text(quotes), n, m.text(quotes)))
		} else if len(types) == 0 {
			return nil, m.unwritten(name)
		}
	}
	if len(types) > 0 {
		n, err := m.paramJSON(name, a, property, types)
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
func (m *maker) declared(tool wire.Tool) (*arguments, error) {
	a := &arguments{schema: tool.Parameters, types: tool.Types()}
	if len(tool.Parameters) > 0 {
		if err := json.Unmarshal(tool.Parameters, &a.root); err != nil {
			return nil, &schema.Error{Reason: "the parameters of " + tool.Name + " are no object: " + err.Error()}
		}
	}
	for key := range a.root {
		if schema.Constrains(key) && !slices.Contains(apart, key) {
			return nil, &schema.Error{Pointer: "/" + key, Keyword: key, Reason: key + " of an object cannot be enforced in arguments as they are written by " + m.f.Name}
		}
	}
	_ = json.Unmarshal(a.root["required"], &a.required)
	var err error
	if a.names, a.properties, err = ordered(a.root["properties"]); err != nil {
		return nil, &schema.Error{Pointer: "/properties", Keyword: "properties", Reason: err.Error()}
	}
	for _, name := range a.names {
		if name == "" || !m.reads(name, "x", "string") {
			return nil, &schema.Error{Pointer: pointer(name), Keyword: "properties", Reason: "the name of this argument cannot be written as one by " + m.f.Name}
		}
	}
	return a, nil
}

// param is one argument; of any name if that is empty.
func (m *maker) param(name string, a *arguments, property json.RawMessage) (*grammar.Node, error) {
	b := m.b
	elements := m.f.Param.Elements()
	types := a.typesOf(name)
	if m.f.Types[0] == "" && !m.f.Values.JSON && len(a.types(cmp.Or(name, undeclared))) == 0 {
		types = []string{"string"} // what the schema says nothing of is read so
	}
	// One way of writing the argument for each thing a tag can say of it.
	type way struct {
		tag   string
		types []string
	}
	var ways []way
	switch words := m.f.Types; {
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
		written := true
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
				n, err := m.paramValue(name, a, property, w.types, elements[i+1:])
				if err != nil {
					return nil, err
				}
				if written = n != nil; written {
					parts = append(parts, n)
				}
			default:
				return nil, fmt.Errorf("%s: %w", m.f.Name, ErrUnsupported)
			}
		}
		if written {
			out = append(out, b.Seq(parts...))
		}
	}
	if out == nil {
		return nil, m.unwritten(name)
	}
	return b.Alt(out...), nil
}

// anyKey is the name of an argument that no schema names.
var anyKey = grammar.Repeat(grammar.Chars(grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'}, grammar.RuneRange{Lo: 'A', Hi: 'Z'},
	grammar.RuneRange{Lo: 'a', Hi: 'z'}, grammar.RuneRange{Lo: '_', Hi: '_'}, grammar.RuneRange{Lo: '-', Hi: '-'})), 1, 64)

// paramValue is a value of some types, nil if there is none. Strings stand as they are, up to
// the closing tag; where any text is one, the others are texts too.
func (m *maker) paramValue(name string, a *arguments, property json.RawMessage, types []string, rest []wire.Element) (*grammar.Node, error) {
	i := slices.Index(types, "string")
	if i < 0 {
		return m.paramJSON(name, a, property, types)
	}
	text, free, err := m.rawString(name, a, property, types, rest)
	if err != nil || free || len(types) == 1 {
		return text, err
	}
	others, err := m.paramJSON(name, a, property, slices.Delete(slices.Clone(types), i, i+1))
	if err != nil || text == nil {
		return others, err
	}
	return m.b.Alt(text, others), nil
}

// paramJSON is a value of some types as JSON.
func (m *maker) paramJSON(name string, a *arguments, property json.RawMessage, types []string) (*grammar.Node, error) {
	src, err := m.document(name, a, property, types)
	if err != nil {
		return nil, err
	}
	return m.schema(src)
}

// maxRead bounds the schemas that are read for the arguments of a request, in bytes: what an
// argument refers to is read with it.
const maxRead = 16 << 20

// document is the schema of an argument that is of some types.
func (m *maker) document(name string, a *arguments, property json.RawMessage, types []string) ([]byte, error) {
	if property == nil {
		property = json.RawMessage("{}")
	}
	of := map[string]any{"type": types}
	if a.root["$schema"] != nil {
		of["$schema"] = a.root["$schema"]
	}
	if bytes.Contains(property, []byte(`"$ref"`)) {
		// All of the tool's schema, under a name of its own, so that # is that schema.
		whole := a.schema
		if a.root["$id"] == nil {
			whole = append([]byte(`{"$id":"quern:tool","id":"quern:tool",`), a.schema[bytes.IndexByte(a.schema, '{')+1:]...)
		}
		ref := url.URL{Fragment: "/$defs/tool" + pointer(name)}
		of["$defs"], of["allOf"] = map[string]json.RawMessage{"tool": whole}, []any{map[string]string{"$ref": ref.String()}}
	} else {
		of["allOf"] = []json.RawMessage{property}
	}
	src, err := json.Marshal(of)
	if m.read += len(src); err == nil && m.read > maxRead {
		err = &schema.Error{Pointer: pointer(name), Keyword: "$ref", Reason: fmt.Sprintf("the arguments and what they refer to have more than %d bytes, where each is read with all of that; refer to less", maxRead)}
	}
	return src, err
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
