package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"quern/engine/grammar"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
)

// about are keywords that say more of a string than lists of values do.
var about = []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "pattern", "format", "minLength", "maxLength"}

// rawString is a string as it stands there, nil if none can, and whether it may be any. types
// are those that a text there may be read as.
func (m *maker) rawString(name string, a *arguments, property json.RawMessage, types []string, rest []wire.Element) (n *grammar.Node, free bool, err error) {
	end := ""
	for _, e := range rest {
		if e.Kind == wire.Key {
			end += name
		}
		end += e.Text
	}
	if end = strings.Trim(end, " \n"); m.hasToken(end) {
		end = ""
	}
	var s map[string]json.RawMessage
	_ = json.Unmarshal(property, &s)
	says := func(k string) bool { return s[k] != nil }
	values, ok := listed(s["enum"])
	keyword := "enum"
	if !ok {
		values, ok = listed(s["const"])
		keyword = "const"
	}
	switch {
	case slices.ContainsFunc(about, says) || !ok && len(types) > 1 && slices.ContainsFunc(slices.Collect(maps.Keys(s)), schema.Constrains):
		n, err := m.stringsOf(name, a, property, types, end)
		return n, false, err
	case ok:
		n, err := m.oneOf(name, keyword, values, types)
		return n, false, err
	case end == "":
		return m.b.Text(), true, nil
	}
	return m.b.Text(end), true, nil
}

// listed are the strings of enum, or the one that const is.
func listed(raw json.RawMessage) (values []string, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	for _, v := range list {
		var text string
		if v[0] == '"' && json.Unmarshal(v, &text) == nil {
			values = append(values, text)
		}
	}
	return values, true
}

// unwritten is the error of an argument of which nothing can be written.
func (m *maker) unwritten(name string) error {
	return &schema.Error{Pointer: pointer(name), Reason: "no value can be written between the tags of " + m.f.Name}
}

// stringsOf are the strings that the schema of an argument allows, of those that are read as
// strings; nil if there are none.
func (m *maker) stringsOf(name string, a *arguments, property json.RawMessage, types []string, end string) (*grammar.Node, error) {
	src, err := m.document(name, a, property, []string{"string"})
	if err != nil {
		return nil, err
	}
	text, all, _, err := schema.Strings(src, schema.Options{})
	if err != nil {
		return nil, err
	}
	anything := grammar.Star(grammar.AnyByte())
	parts := []*grammar.Regex{text}
	if all {
		parts[0] = anything
	}
	bar := func(r ...*grammar.Regex) { parts = append(parts, grammar.Not(grammar.Concat(r...))) }
	if end != "" {
		bar(anything, grammar.Lit(end), anything)
	}
	if m.f.Values.Newline && !all { // one at either end is not read
		bar(grammar.Lit("\n"), anything)
		bar(anything, grammar.Lit("\n"))
	}
	if m.f.Values.CDATA {
		bar(blanks, grammar.Lit("<![CDATA["), anything)
	}
	for _, t := range types {
		if r := otherWords[t]; r != nil { // is read as that
			bar(blanks, r, blanks)
		}
	}
	r := grammar.And(parts...)
	if none, err := grammar.NewExpressions(grammar.Limits{}).Empty(r); err != nil || none {
		return nil, err
	}
	return m.b.Lexeme(r), nil
}

// blanks are those that readers of JSON step over.
var blanks = grammar.Star(grammar.Chars(grammar.OneOf(" \n\t\r")))

// otherWords are texts of other types than string, or begin as these do.
var otherWords = map[string]*grammar.Regex{
	"array":   grammar.Concat(grammar.Lit("["), grammar.Star(grammar.AnyByte())),
	"object":  grammar.Concat(grammar.Lit("{"), grammar.Star(grammar.AnyByte())),
	"null":    grammar.Or(grammar.Lit("null"), grammar.Lit("None")),
	"boolean": grammar.Or(grammar.Lit("true"), grammar.Lit("false"), grammar.Lit("True"), grammar.Lit("False")),
	"number": grammar.Concat(grammar.Opt(grammar.Lit("-")), grammar.Plus(digit), grammar.Opt(grammar.Concat(grammar.Lit("."), grammar.Plus(digit))),
		grammar.Opt(grammar.Concat(grammar.Chars(grammar.OneOf("eE")), grammar.Opt(grammar.Chars(grammar.OneOf("+-"))), grammar.Plus(digit)))),
}
