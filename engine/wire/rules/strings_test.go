package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"quern/engine/grammar"
	"quern/engine/wire"
)

// writes are how formats write a call of f with the argument a.
var writes = map[string]string{
	"qwen3-coder-xml": "<tool_call>\n<function=f>\n<parameter=a>\n%s\n</parameter>\n</function>\n</tool_call>",
	"glm-xml":         "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>%s</arg_value>\n</tool_call>",
	"minicpm5":        `<function name="f"><param name="a">%s</param></function>`,
	"deepseek-dsml":   "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"true\">%s</｜DSML｜parameter>\n</｜DSML｜invoke></｜DSML｜function_calls>",
	"functiongemma":   "<start_function_call>call:f{a:<escape>%s<escape>}<end_function_call>",
}

// TestStrings: a string that stands there as it is keeps to all that its schema says, and so
// does what stands in its place.
func TestStrings(t *testing.T) {
	for _, tt := range []struct {
		about, property, more string
		pass, stop            []string
		other                 []string // that pass where no tag says the type
	}{
		{"pattern", `{"type":"string","pattern":"^[a-z]+$"}`, "", []string{"abc"}, []string{"", "a1", "A"}, nil},
		{"lengths", `{"type":"string","minLength":2,"maxLength":3}`, "", []string{"ab", "né", "日本語"}, []string{"a", "abcd", ""}, nil},
		{"format", `{"type":"string","format":"date"}`, "", []string{"2024-02-29"}, []string{"2023-02-29", "x"}, nil},
		{"a reference", `{"$ref":"#/$defs/e"}`, `"$defs":{"e":{"type":"string","enum":["red","blue"]}}`, []string{"red", "blue"}, []string{"green", "", "redd"}, nil},
		{"a reference that may be null", `{"anyOf":[{"$ref":"#/$defs/e"},{"type":"null"}]}`, `"$defs":{"e":{"type":"string","enum":["red","blue"]}}`, []string{"red"}, []string{"green", ""}, []string{"null"}},
		{"null in a list", `{"type":["string","null"],"enum":["red",null]}`, "", []string{"red"}, []string{"", "green"}, []string{"null"}},
		{"a word of null", `{"type":["string","null"],"enum":["null","red",null]}`, "", []string{"red"}, []string{"none"}, []string{"null"}},
		{"numbers in a list", `{"enum":["a",1,2.5,true]}`, "", []string{"a"}, []string{"b", "3", "false"}, []string{"1", "2.5", "true"}},
		{"or a number", `{"anyOf":[{"type":"string","pattern":"^x"},{"type":"integer","minimum":5}]}`, "", []string{"x7"}, []string{"y", "4"}, []string{"5"}},
		{"any or null", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, "", []string{"a b\nc", "x"}, nil, []string{"null"}},
		{"not", `{"type":"string","not":{"enum":["a","b"]}}`, "", []string{"c", "ab"}, []string{"a", "b"}, nil},
		{"a list beside a not", `{"type":"string","enum":["a","b","c"],"not":{"const":"b"}}`, "", []string{"a", "c"}, []string{"b"}, nil},
		{"all of", `{"allOf":[{"$ref":"#/$defs/e"},{"minLength":4}]}`, `"$defs":{"e":{"type":"string","enum":["red","blue"]}}`, []string{"blue"}, []string{"red"}, nil},
		{"two steps", `{"$ref":"#/$defs/x"}`, `"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"const":"z"}}`, []string{"z"}, []string{"x"}, nil},
		{"another argument", `{"$ref":"#/properties/b~1c%25"}`, "", []string{"zz"}, []string{"z"}, nil},
	} {
		properties := `"a":` + tt.property
		if strings.Contains(tt.property, "#/properties") {
			properties += `,"b/c%":{"type":"string","pattern":"^zz$"}`
		}
		schema := `{"type":"object","properties":{` + properties + `},"required":["a"],"additionalProperties":false`
		if tt.more != "" {
			schema += "," + tt.more
		}
		for format, call := range writes {
			if strings.Contains(properties, "b/") && format == "minicpm5" {
				continue
			}
			g := compiled(t, format, schema+"}")
			if g == nil {
				continue
			}
			check := func(value string, want bool) {
				if text := fmt.Sprintf(call, value); allows(g, text, nil) != want {
					t.Errorf("%s, %s: %q passes: %v, want %v", tt.about, format, text, !want, want)
				}
			}
			for _, value := range tt.pass {
				check(value, true)
			}
			for _, value := range tt.stop {
				check(value, false)
			}
			f, _ := wire.Find(format)
			for _, value := range tt.other {
				if f.Types[0] == "" && f.Dialect != wire.Gemma {
					check(value, true)
				}
			}
		}
	}
}

// compiled is the grammar of one call of f.
func compiled(t *testing.T, format, schema string) *grammar.Grammar {
	t.Helper()
	f, _ := wire.Find(format)
	trie, _ := vocabulary(t, nil)
	b := grammar.NewBuilder(grammar.Limits{})
	root, _, err := Add(b, f, Options{Required: true, Single: true, Tools: []wire.Tool{{Name: "f", Parameters: json.RawMessage(schema)}}})
	if err != nil {
		t.Errorf("%s, %s: %v", format, schema, err)
		return nil
	}
	g, err := b.Compile(root, trie)
	if err != nil {
		t.Errorf("%s, %s: %v", format, schema, err)
	}
	return g
}

// TestUndeclared: arguments that are not declared are as additionalProperties says.
func TestUndeclared(t *testing.T) {
	for schema, values := range map[string]map[string]bool{
		`{"type":"object","additionalProperties":{"type":"integer"},"x-note":1,"examples":[]}`:                         {"1": true, "x": false, "1.5": false},
		`{"type":"object","additionalProperties":{"$ref":"#/$defs/e"},"$defs":{"e":{"type":"string","enum":["red"]}}}`: {"red": true, "blue": false},
		`{"type":"object","additionalProperties":true}`:                                                                {"1": true, "x": true, "": true},
		`{}`: {"1": true, "x": true, "[1]": true},
	} {
		for _, format := range []string{"qwen3-coder-xml", "minicpm5"} {
			g := compiled(t, format, schema)
			for value, want := range values {
				if g != nil && allows(g, fmt.Sprintf(writes[format], value), nil) != want {
					t.Errorf("%s, %s: %q passes: %v, want %v", format, schema, value, !want, want)
				}
			}
		}
	}
	g := compiled(t, "llama4-pythonic", `{"additionalProperties":{"type":"integer"}}`)
	for text, want := range map[string]bool{"[f()]": true, "[f(a=1, b=2)]": true, `[f(a="x")]`: false} {
		if g != nil && allows(g, text, nil) != want {
			t.Errorf("%s passes: %v, want %v", text, !want, want)
		}
	}
}

// TestWholeReference: # is the schema of the tool, also of an argument that is read alone.
func TestWholeReference(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#"}},"n":{"type":"integer"}},"required":["n"]}`
	for format, call := range map[string]string{
		"qwen3-coder-xml": "<tool_call>\n<function=f>\n<parameter=a>\n%s\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>",
		"llama4-pythonic": "[f(a=%s, n=1)]",
	} {
		g := compiled(t, format, schema)
		for value, want := range map[string]bool{`[]`: true, `[{"n":1}]`: true, `[{"a":[{"n":2}],"n":1}]`: true, `[[]]`: false, `[{"a":[]}]`: false} {
			if g != nil && allows(g, fmt.Sprintf(call, value), nil) != want {
				t.Errorf("%s: %s passes: %v, want %v", format, value, !want, want)
			}
		}
	}
}

// TestMultiplied: schemas whose references multiply, or that each argument would be read with,
// are made into a grammar or refused after work that their size bounds.
func TestMultiplied(t *testing.T) {
	defs := `"d0":{"type":"integer"}`
	for i := range 12 {
		defs += fmt.Sprintf(`,"d%d":{"anyOf":[%s{"type":"boolean"}]}`, i+1, strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/d%d"},`, i), 20))
	}
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `"p%d":{"$ref":"#/$defs/x"},`, i)
	}
	for _, tt := range []struct{ about, schema, want string }{
		{"alternatives", `{"properties":{"a":{"$ref":"#/$defs/d12"}},"$defs":{` + defs + `}}`, ""},
		{"arguments", `{"properties":{` + many.String() + `"z":{}},"$defs":{"x":{"type":"integer","description":"` + strings.Repeat("x", 600_000) + `"}}}`, "refer to less"},
	} {
		for i, format := range []string{"qwen3-coder-xml", "llama4-pythonic", "functiongemma"} {
			if tt.want != "" && i > 0 {
				break // the bound is that of all formats, and takes 16 MB to reach
			}
			f, _ := wire.Find(format)
			_, _, err := Add(grammar.NewBuilder(grammar.Limits{}), f, Options{Tools: []wire.Tool{{Name: "f", Parameters: json.RawMessage(tt.schema)}}})
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: %v, want %q", tt.about, format, err, tt.want)
			}
		}
	}
}
