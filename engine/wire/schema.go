package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// types are the kinds of values a schema allows; none if nothing is known.
type types uint8

const (
	isString types = 1 << iota
	isObject
	isArray
	isNumber
	isBoolean
	isNull
)

const anyType = isString | isObject | isArray | isNumber | isBoolean | isNull

var typeNames = map[string]types{
	"string": isString, "object": isObject, "array": isArray,
	"number": isNumber, "integer": isNumber, "boolean": isBoolean, "null": isNull,
}

// Types returns a function of the types of JSON that the schema allows for an argument; none if
// it does not say. Integers are numbers.
func (t Tool) Types() func(argument string) []string {
	read := &tool{schema: t.Parameters}
	return func(argument string) (out []string) {
		all := read.of([]string{argument})
		for _, name := range []string{"string", "number", "boolean", "null", "object", "array"} {
			if all&typeNames[name] != 0 {
				out = append(out, name)
			}
		}
		return out
	}
}

// A tool is a Tool whose schema is read when it is asked for.
type tool struct {
	schema json.RawMessage
	read   bool
	root   map[string]json.RawMessage
	inside map[string]map[string]json.RawMessage // of members of root, by the pointers to them
	top    schema                                // the schema itself
	left   int                                   // schemas that may still be looked at for an answer
}

// maxLooks bounds the schemas that are looked at for an answer: alternatives that refer to
// alternatives multiply.
const maxLooks = 1000

// of returns the types of a member of the arguments, and its schema. Both are
// zero where the tool says nothing.
func (t *tool) of(path []string) types {
	if t == nil || len(t.schema) == 0 {
		return 0
	}
	if !t.read {
		t.read, t.inside = true, map[string]map[string]json.RawMessage{}
		_ = json.Unmarshal(t.schema, &t.root)
		_ = json.Unmarshal(t.schema, &t.top)
	}
	t.left = maxLooks
	at := []json.RawMessage{t.schema}
	for _, key := range path {
		var next []json.RawMessage
		for _, s := range at {
			next = append(next, t.members(s, key, 0)...)
		}
		if at = next; len(at) == 0 || len(at) > 64 {
			return 0
		}
	}
	var all types
	for _, s := range at {
		all |= t.types(s, 0)
	}
	return all
}

// maxSchema is how deep references and alternatives are followed.
const maxSchema = 8

type schema struct {
	Ref                 string `json:"$ref"`
	Type                json.RawMessage
	Enum                []json.RawMessage
	Const               json.RawMessage
	AnyOf, OneOf, AllOf []json.RawMessage
	Properties          map[string]json.RawMessage
	Items               json.RawMessage
	Additional          json.RawMessage `json:"additionalProperties"`
}

// parse reads a schema, or the one it refers to.
func (t *tool) parse(raw json.RawMessage) (s schema) {
	for range maxSchema {
		if t.left--; t.left < 0 {
			break
		}
		if len(raw) == len(t.schema) && &raw[0] == &t.schema[0] {
			s = t.top
		} else {
			s = schema{}
			_ = json.Unmarshal(raw, &s)
		}
		if s.Ref == "" {
			return s
		}
		raw = t.target(s.Ref)
	}
	return schema{}
}

// target is the target of a reference, nil if it is not in the schema.
func (t *tool) target(ref string) json.RawMessage {
	if ref == "#" {
		return t.schema
	}
	if text, err := url.PathUnescape(ref); err == nil {
		ref = text
	}
	steps := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	if len(steps) > maxSchema {
		return nil
	}
	at, path := t.root, ""
	for i, step := range steps {
		target := at[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		if i == len(steps)-1 {
			return target
		}
		path += "/" + step
		inside, seen := t.inside[path]
		if !seen {
			_ = json.Unmarshal(target, &inside)
			t.inside[path] = inside
		}
		at = inside
	}
	return nil
}

// members returns the schemas of a member of what raw describes; "" is an item
// of an array.
func (t *tool) members(raw json.RawMessage, key string, depth int) []json.RawMessage {
	if depth > maxSchema || t.left <= 0 {
		return nil
	}
	s := t.parse(raw)
	var out []json.RawMessage
	switch {
	case key == "":
		if len(s.Items) > 0 {
			out = append(out, s.Items)
		}
	case s.Properties[key] != nil:
		out = append(out, s.Properties[key])
	case len(s.Additional) > 0 && s.Additional[0] == '{':
		out = append(out, s.Additional)
	}
	for _, list := range [][]json.RawMessage{s.AnyOf, s.OneOf, s.AllOf} {
		for _, o := range list {
			out = append(out, t.members(o, key, depth+1)...)
		}
	}
	return out
}

func (t *tool) types(raw json.RawMessage, depth int) types {
	if depth > maxSchema || t.left <= 0 {
		return anyType
	}
	s := t.parse(raw)
	var out types
	var one string
	var many []string
	if json.Unmarshal(s.Type, &one) == nil {
		out |= typeNames[one]
	} else if json.Unmarshal(s.Type, &many) == nil {
		for _, name := range many {
			out |= typeNames[name]
		}
	}
	if out != 0 {
		return out
	}
	values := s.Enum
	if len(s.Const) > 0 {
		values = append(values, s.Const)
	}
	for _, v := range values {
		out |= kindOf(v)
	}
	if out != 0 {
		return out
	}
	for _, list := range [][]json.RawMessage{s.AnyOf, s.OneOf, s.AllOf} {
		for _, o := range list {
			out |= t.types(o, depth+1)
		}
	}
	return out
}

// kindOf is the type of a JSON value.
func kindOf(value []byte) types {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
		return 0
	case value[0] == '"':
		return isString
	case value[0] == '{':
		return isObject
	case value[0] == '[':
		return isArray
	case value[0] == 't' || value[0] == 'f':
		return isBoolean
	case value[0] == 'n':
		return isNull
	}
	return isNumber
}

// parseValue returns text as JSON if it is one value, in JSON or as Python
// writes it.
func parseValue(text []byte) ([]byte, bool) {
	v := transcoder{dialect: JSON, maxDepth: MaxDepth}
	for _, v.dialect = range []Dialect{JSON, Python} {
		v.reset()
		v.out = nil
		n, st := v.run(text, true)
		if st == done && n == len(text) {
			return v.out, true
		}
	}
	return nil, false
}

// convert writes the text of a param as JSON. A text that may be a string and
// parses as something else the schema allows is that; what does not parse is a
// string, since arguments have to be JSON.
func convert(text []byte, want types, guess bool) []byte {
	quoted := func() []byte {
		return append(appendEscaped([]byte{'"'}, text), '"')
	}
	if want == isString || want == 0 && !guess {
		return quoted()
	}
	value, ok := parseValue(bytes.TrimSpace(text))
	switch {
	case !ok:
		return quoted()
	case want == 0 || want&kindOf(value) != 0 && (kindOf(value) != isString || want&isString == 0):
		return value
	case want&isString != 0:
		return quoted()
	}
	return value
}
