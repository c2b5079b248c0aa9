package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"quern/bench/fixtures"
	"quern/engine/wire"
)

// said are replies without calls, and what may look like the beginning of one.
var said = []struct {
	name string
	make func(n int) string
}{
	{"words", fixtures.Repeated("Some words of an answer, with `code` and <b>tags</b>. ")},
	{"opening brackets", fixtures.Repeated("<")},
	{"opening braces", fixtures.Repeated("{")},
	{"opening square brackets", fixtures.Repeated("[")},
	{"objects", fixtures.Repeated(`{"name": `)},
	{"names of functions", fixtures.Repeated("f(")},
	{"an object that does not end", func(n int) string { return `{"name": "f", "arguments": {"text": "` + fixtures.Repeated("words ")(n) }},
	{"backquotes", fixtures.Repeated("`")},
	{"fences", fixtures.Repeated("```json\n")},
	{"spaces", fixtures.Repeated(" ")},
	{"line ends", fixtures.Repeated("\n")},
	{"thinking that does not end", func(n int) string { return "<think>" + fixtures.Repeated("words ")(n) }},
	{"thinking opened again", fixtures.Repeated("<think>")},
	{"thinking closed again", fixtures.Repeated("</think>")},
	{"calls that are opened", fixtures.Repeated("<tool_call>")},
	{"calls without a name", fixtures.Repeated("<tool_call>\n{}\n</tool_call>\n")},
	{"bytes that are no characters", fixtures.Repeated("\xff\xe2")},
}

// arguments are those of one call.
var arguments = []struct {
	name string
	make func(n int) string
}{
	{"a long text", func(n int) string { return argument("text", fixtures.Repeated("words of an argument ")(n)) }},
	{"a text of line ends", func(n int) string { return argument("text", fixtures.Repeated("\n")(n)) }},
	{"a text of quotes", func(n int) string { return argument("text", fixtures.Repeated(`"`)(n)) }},
	{"a text of tags", func(n int) string { return argument("text", fixtures.Repeated("</tool_call><")(n)) }},
	{"a text of braces", func(n int) string { return argument("text", fixtures.Repeated("}{")(n)) }},
	{"a text of fences", func(n int) string { return argument("text", fixtures.Repeated("```\n")(n)) }},
	{"many numbers", func(n int) string { return `{"list": [` + strings.Repeat("1, ", n/3) + `1]}` }},
	{"one long number", func(n int) string { return `{"text": ` + strings.Repeat("1", n) + `}` }},
	{"spaces between", func(n int) string { return `{"text": ` + strings.Repeat(" ", n) + `"x"}` }},
	{"many keys", func(n int) string {
		keys := make(map[string]any, n/16)
		for i := range n / 16 {
			keys["key"+strconv.Itoa(i)] = i
		}
		return written(keys)
	}},
	{"lists in lists", func(n int) string {
		n = min(n, 9000) // deeper ones are no JSON for encoding/json
		return `{"list": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}},
}

func argument(key string, value any) string { return written(map[string]any{key: value}) }

func written(v map[string]any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers are JSON
	}
	return string(text)
}

// streamed reads a reply as it is streamed, in tokens of four bytes.
func streamed(syntax *wire.Syntax, text string, tools []wire.Tool) func() error {
	return func() error {
		r := syntax.NewReader(wire.Options{Tools: tools})
		for rest := text; len(rest) > 0; rest = rest[min(4, len(rest)):] {
			r.Write([]byte(rest[:min(4, len(rest))]))
		}
		r.Close()
		return nil
	}
}

func replies(string) (list []probe, err error) {
	tools := []wire.Tool{{Name: "f", Parameters: json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}}`)}}
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		syntax := wire.NewSyntax(f, nil)
		for _, s := range said {
			list = append(list, probe{"reply", s.name, name, 1 << 14, "bytes", func(n int) (func() error, error) {
				return streamed(syntax, s.make(n), tools), nil
			}})
		}
		for _, a := range arguments {
			if _, err := f.Write([]wire.Call{{Name: "f", Arguments: a.make(64)}}); err != nil {
				continue // the format has no calls
			}
			list = append(list, probe{"call", a.name, name, 1 << 14, "bytes", func(n int) (func() error, error) {
				text, err := f.Write([]wire.Call{{Name: "f", Arguments: a.make(n)}})
				return streamed(syntax, text, tools), err
			}})
		}
		if _, err := f.Write([]wire.Call{{Name: "f", Arguments: "{}"}, {Name: "f", Arguments: "{}"}}); err == nil {
			list = append(list, probe{"call", "many", name, 64, "calls", func(n int) (func() error, error) {
				text, err := f.Write(several(n))
				return streamed(syntax, text, tools), err
			}})
		}
	}
	return list, nil
}

// several are n calls of f.
func several(n int) (list []wire.Call) {
	for range n {
		list = append(list, wire.Call{Name: "f", Arguments: `{"text": "words"}`})
	}
	return list
}
