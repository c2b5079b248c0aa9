package rules

import (
	"encoding/json"
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
func (m *maker) rawString(name string, a *arguments, property json.RawMessage, types []string, rest []wire.Element) (n *grammar.Node, any bool, err error) {
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
	if slices.ContainsFunc(about, func(k string) bool { return s[k] != nil }) {
		return m.stringsOf(name, a, property, types, end)
	}
	for _, keyword := range []string{"enum", "const"} {
		if values, ok := listed(s[keyword]); ok && values != nil {
			n, err := m.oneOf(name, keyword, values, types)
			return n, false, err
		} else if ok {
			return nil, false, nil
		}
	}
	if end == "" {
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

// stringsOf are the strings that the schema of an argument allows, of those that can be read.
func (m *maker) stringsOf(name string, a *arguments, property json.RawMessage, types []string, end string) (n *grammar.Node, any bool, err error) {
	src, err := m.document(name, a, property, []string{"string"})
	if err != nil {
		return nil, false, err
	}
	text, any, _, err := schema.Strings(src, schema.Options{})
	if err != nil {
		return nil, false, err
	}
	anything := grammar.Star(grammar.AnyByte())
	parts := []*grammar.Regex{text}
	bar := func(r ...*grammar.Regex) { parts = append(parts, grammar.Not(grammar.Concat(r...))) }
	if end != "" {
		bar(anything, grammar.Lit(end), anything)
	}
	if any {
		parts[0] = anything
		return m.b.Lexeme(grammar.And(parts...)), true, nil
	}
	if m.f.Values.Newline { // one at either end is not read
		bar(grammar.Lit("\n"), anything)
		bar(anything, grammar.Lit("\n"))
	}
	for _, t := range types {
		if r := otherWords[t]; r != nil { // is read as that
			parts = append(parts, grammar.Not(r))
		}
	}
	r := grammar.And(parts...)
	if none, err := grammar.NewExpressions(grammar.Limits{}).Empty(r); err != nil || none {
		return nil, false, err
	}
	return m.b.Lexeme(r), false, nil
}

// otherWords are texts of other types than string.
var otherWords = map[string]*grammar.Regex{
	"null":    grammar.Or(grammar.Lit("null"), grammar.Lit("None")),
	"boolean": grammar.Or(grammar.Lit("true"), grammar.Lit("false"), grammar.Lit("True"), grammar.Lit("False")),
	"number": grammar.Concat(grammar.Opt(grammar.Lit("-")), grammar.Plus(digit), grammar.Opt(grammar.Concat(grammar.Lit("."), grammar.Plus(digit))),
		grammar.Opt(grammar.Concat(grammar.Chars(grammar.OneOf("eE")), grammar.Opt(grammar.Chars(grammar.OneOf("+-"))), grammar.Plus(digit)))),
}
