package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"quern/bench/fixtures"
	"quern/bench/internal/must"
	"quern/engine/grammar"
	"quern/engine/grammar/gbnf"
	"quern/engine/grammar/regex"
	"quern/engine/grammar/schema"
	"quern/engine/token"
	"quern/formats/gguf"
)

// A form is a grammar and a text that it allows.
type form struct {
	name, unit string
	n          int
	build      func(b *grammar.Builder, n int) (*grammar.Node, error)
	text       func(n int) string
}

func ofSchema(make func(n int) any) func(b *grammar.Builder, n int) (*grammar.Node, error) {
	return func(b *grammar.Builder, n int) (*grammar.Node, error) {
		src, err := json.Marshal(make(n))
		if err != nil {
			return nil, err
		}
		root, _, err := schema.Add(b, src, schema.Options{})
		return root, err
	}
}

func ofGBNF(make func(n int) string) func(b *grammar.Builder, n int) (*grammar.Node, error) {
	return func(b *grammar.Builder, n int) (*grammar.Node, error) { return gbnf.Parse(b, make(n), gbnf.Options{}) }
}

func ofRegex(make func(n int) string) func(b *grammar.Builder, n int) (*grammar.Node, error) {
	return func(b *grammar.Builder, n int) (*grammar.Node, error) {
		r, err := regex.Parse(make(n), regex.Options{})
		if err != nil {
			return nil, err
		}
		return b.Lexeme(r), nil
	}
}

type object = map[string]any

// properties are n optional ones, or required ones.
func properties(n int, required bool) any {
	all, names := object{}, []string{}
	for i := range n {
		name := fmt.Sprintf("p%05d", i)
		all[name], names = object{"type": "integer"}, append(names, name)
	}
	s := object{"type": "object", "properties": all, "additionalProperties": false}
	if required {
		s["required"] = names
	}
	return s
}

func propertiesText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%05d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func words(n int) (list []string) {
	for i := range n {
		list = append(list, fixtures.Varied(8+i%8)+fmt.Sprint(i))
	}
	return list
}

var forms = []form{
	{"required properties", "properties", 16, ofSchema(func(n int) any { return properties(n, true) }), propertiesText},
	{"optional properties", "properties", 16, ofSchema(func(n int) any { return properties(n, false) }), propertiesText},
	{"enum", "words", 64, ofSchema(func(n int) any { return object{"enum": words(n)} }), func(n int) string { return `"` + words(n)[n-1] + `"` }},
	{"anyOf objects", "branches", 16, ofSchema(func(n int) any {
		var list []any
		for _, w := range words(n) {
			list = append(list, object{"type": "object", "properties": object{"kind": object{"const": w}, "n": object{"type": "integer"}}, "required": []string{"kind", "n"}})
		}
		return object{"anyOf": list}
	}), func(n int) string { return `{"kind":"` + words(n)[n-1] + `","n":1}` }},
	{"oneOf numbers", "branches", 8, ofSchema(func(n int) any {
		var list []any
		for i := range n {
			list = append(list, object{"type": "integer", "minimum": 10 * i, "maximum": 10*i + 5})
		}
		return object{"oneOf": list}
	}), func(n int) string { return fmt.Sprint(10*n - 8) }},
	{"definitions", "definitions", 16, ofSchema(func(n int) any {
		all := object{}
		for i := range n {
			all[fmt.Sprint(i)] = object{"type": "object", "properties": object{"next": object{"$ref": fmt.Sprintf("#/$defs/%d", (i+1)%n)}}, "additionalProperties": false}
		}
		return object{"$defs": all, "$ref": "#/$defs/0"}
	}), func(n int) string { return strings.Repeat(`{"next":`, n-1) + "{}" + strings.Repeat("}", n-1) }},
	{"objects in objects", "levels", 8, ofSchema(func(n int) any {
		var s any = object{"type": "integer"}
		for range min(n, 100) {
			s = object{"type": "object", "properties": object{"a": s}, "required": []string{"a"}, "additionalProperties": false}
		}
		return s
	}), func(n int) string {
		n = min(n, 100)
		return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	}},
	{"maxLength", "characters", 64, ofSchema(func(n int) any { return object{"type": "string", "maxLength": n} }), func(n int) string { return `"` + fixtures.Varied(n) + `"` }},
	{"minLength", "characters", 64, ofSchema(func(n int) any { return object{"type": "string", "minLength": n} }), func(n int) string { return `"` + fixtures.Varied(n) + `"` }},
	{"maxItems", "items", 64, ofSchema(func(n int) any { return object{"type": "array", "items": object{"type": "integer"}, "maxItems": n} }), func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }},
	{"pattern with a long repetition", "characters", 32, ofSchema(func(n int) any {
		return object{"type": "string", "pattern": fmt.Sprintf("^([a-z0-9]{2,%d})$", n)}
	}), func(n int) string { return `"` + fixtures.Varied(n) + `"` }},
	{"pattern of a late choice", "characters", 2, ofSchema(func(n int) any {
		return object{"type": "string", "pattern": fmt.Sprintf("^[ab]*a[ab]{%d}$", min(n, 10))}
	}), func(n int) string { return `"` + strings.Repeat("a", min(n, 10)+1) + `"` }},
	{"allOf patterns", "patterns", 2, ofSchema(func(n int) any {
		var list []any
		for i := range min(n, 8) {
			list = append(list, object{"pattern": string(rune('a' + i))})
		}
		return object{"type": "string", "allOf": list}
	}), func(int) string { return `"abcdefghijklmnopqrstuvwxyz"` }},
	{"a long text", "bytes", 1 << 12, ofSchema(func(int) any { return object{"type": "string"} }), func(n int) string { return `"` + fixtures.Varied(n) + `"` }},
	{"a long list of objects", "objects", 64, ofSchema(func(int) any { return object{"type": "array", "items": properties(3, true)} }), func(n int) string {
		return "[" + strings.Repeat(propertiesText(3)+",", n-1) + propertiesText(3) + "]"
	}},
	{"any JSON, deep", "levels", 64, ofSchema(func(int) any { return object{} }), func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }},
	{"GBNF of rules", "rules", 32, ofGBNF(func(n int) string {
		var b strings.Builder
		b.WriteString("root ::= r0\n")
		for i := range n {
			fmt.Fprintf(&b, "r%d ::= \"x%d\" r%d?\n", i, i, (i+1)%n)
		}
		return b.String()
	}), func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "x%d", i)
		}
		return b.String()
	}},
	{"GBNF of alternatives", "alternatives", 64, ofGBNF(func(n int) string { return "root ::= \"" + strings.Join(words(n), "\" | \"") + "\"\n" }), func(n int) string { return words(n)[n-1] }},
	{"GBNF with left recursion", "characters", 1 << 10, ofGBNF(func(int) string { return "root ::= root \"+\" [0-9] | [0-9]\n" }), func(n int) string { return "1" + strings.Repeat("+1", n/2) }},
	{"GBNF with right recursion", "characters", 1 << 10, ofGBNF(func(int) string { return "root ::= [a-z] root?\n" }), fixtures.Varied},
	{"regular expression of a list", "words", 64, ofRegex(func(n int) string { return "(" + strings.Join(words(n), "|") + ")" }), func(n int) string { return words(n)[n-1] }},
}

// grammars compiles forms, and reads texts with a mask before each token.
func grammars(fixtures string) (list []probe, err error) {
	defer must.Catch(&err)
	set := must.Get(gguf.Open(filepath.Join(fixtures, "vocab", "ggml-vocab-gpt-2.gguf")))
	vocab := must.Get(token.New(must.Get(token.From(&set.Meta))))
	source := grammar.Vocab{Bytes: make([][]byte, vocab.Size())}
	for id := range source.Bytes {
		if vocab.Kind(token.ID(id)) == token.Normal {
			source.Bytes[id] = vocab.Bytes(token.ID(id))
		}
	}
	source.EOG = vocab.Ending()
	trie := must.Get(grammar.NewTrie(source))
	for _, f := range forms {
		compile := func(n int) (*grammar.Grammar, error) {
			b := grammar.NewBuilder(grammar.Limits{})
			root, err := f.build(b, n)
			if err != nil {
				return nil, err
			}
			return b.Compile(root, trie)
		}
		list = append(list, probe{"grammar", f.name + ", compiled", "", f.n, f.unit, func(n int) (func() error, error) {
			return func() error {
				_, err := compile(n)
				return err
			}, nil
		}})
		list = append(list, probe{"grammar", f.name + ", read for the first time", "", f.n, f.unit, func(n int) (func() error, error) {
			ids, mask := vocab.Encode(nil, f.text(n), false), make([]uint32, trie.Words())
			return func() error {
				g, err := compile(n)
				if err != nil {
					return err
				}
				return follow(g.New(), ids, mask)
			}, nil
		}})
		list = append(list, probe{"grammar", f.name + ", read again", "", f.n, f.unit, func(n int) (func() error, error) {
			ids, mask := vocab.Encode(nil, f.text(n), false), make([]uint32, trie.Words())
			g, err := compile(n)
			return func() error { return follow(g.New(), ids, mask) }, err
		}})
	}
	return list, nil
}

// follow takes a mask before each token.
func follow(s *grammar.State, ids []token.ID, mask []uint32) error {
	for i, id := range ids {
		if err := s.Mask(mask); err != nil {
			return err
		}
		if err := s.Accept(id); err != nil {
			return fmt.Errorf("token %d of %d: %w", i, len(ids), err)
		}
	}
	return nil
}
