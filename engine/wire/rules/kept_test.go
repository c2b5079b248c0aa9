package rules

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"quern/engine/grammar"
	"quern/engine/wire"
)

// oddArguments are schemas of arguments that some formats write in ways of their own.
var oddArguments = []string{
	`{"type":"string"}`, `{"type":"string","pattern":"^[a-e]{2,3}$"}`, `{"type":"string","minLength":1,"maxLength":2}`, `{"enum":["a","b c","null","1"]}`,
	`{"enum":["a",null,1,true,"1"]}`, `{"type":["string","null"],"enum":["a",null]}`, `{"$ref":"#/$defs/e"}`, `{"anyOf":[{"$ref":"#/$defs/e"},{"type":"null"}]}`,
	`{"anyOf":[{"type":"string","pattern":"^a"},{"type":"integer","minimum":5,"maximum":99}]}`, `{"type":["string","integer"],"minLength":2,"maximum":9}`,
	`{"type":["string","boolean"],"pattern":"e$"}`, `{"type":["string","array"],"maxLength":3,"items":{"type":"integer"},"maxItems":2}`, `{"type":["object","string"],"maxLength":3,"maxProperties":0}`,
	`{"const":"x y"}`, `{"const":""}`, `{"const":7}`, `{"const":null}`, `{"const":{"a":[1,"b"]}}`, `{"type":"null"}`, `{"type":"boolean"}`, `{"const":true}`,
	`{"type":"integer","minimum":-3,"maximum":12}`, `{"type":"number","multipleOf":0.5,"minimum":0,"maximum":3}`, `{"enum":[1,2.5,"2.5"]}`,
	`{"type":"array","items":{"enum":["a","b"]},"maxItems":2}`, `{"type":"array","prefixItems":[{"type":"boolean"}],"items":false}`, `{"type":"array","items":{"type":["string","null"],"maxLength":2},"maxItems":2}`,
	`{"type":"object","properties":{"x":{"type":"string","maxLength":2},"y":{"type":"boolean"}},"required":["y"],"additionalProperties":false}`,
	`{"oneOf":[{"type":"string","maxLength":1},{"type":"string","enum":["ab","a"]}]}`, `{"not":{"type":["object","array","string"]},"maximum":9,"minimum":0}`,
	`{"type":"string","not":{"enum":["a",""]},"maxLength":2}`, `{"type":"string","format":"date"}`, `{"allOf":[{"type":"string"},{"maxLength":2}]}`, `{"type":"string","minLength":1,"nullable":true}`,
	`{"anyOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"],"additionalProperties":false},{"type":"array","items":{"$ref":"#/$defs/e"},"maxItems":2}]}`,
}

// TestKept: what the grammar of a format lets pass is read as arguments that are valid, as
// another validator has it.
func TestKept(t *testing.T) {
	calls, refused := 0, 0
	for _, argument := range oddArguments {
		schema := `{"type":"object","properties":{"a":` + argument + `,"b":{"type":"boolean"}},"required":["a"],"additionalProperties":false,"$defs":{"e":{"type":"string","enum":["red","b c"]}}}`
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("x:", document); err != nil {
			t.Fatal(err)
		}
		check := c.MustCompile("x:")
		tools := []wire.Tool{{Name: "f", Parameters: json.RawMessage(schema)}}
		for _, name := range wire.Names() {
			f, _ := wire.Find(name)
			if f.Param == "" && f.Dialect == wire.JSON && name != "hermes-json" {
				continue // as that
			}
			trie, token := vocabulary(t, nil)
			b := grammar.NewBuilder(grammar.Limits{})
			root, _, err := Add(b, f, Options{Tools: tools, Required: true, Single: true, Token: token})
			var g *grammar.Grammar
			if err == nil {
				g, err = b.Compile(root, trie)
			}
			if err != nil {
				if !errors.Is(err, ErrUnsupported) {
					refused++
				}
				continue
			}
			for seed := range seeds(1) {
				text, got, ended := draw(t, f, g, nil, tools, seed+1)
				if !ended {
					continue
				}
				if len(got.Calls) != 1 {
					t.Errorf("%s, %s: %q is read as %+v", name, argument, text, got)
					continue
				}
				calls++
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(got.Calls[0].Arguments))
				if err == nil {
					err = check.Validate(v)
				}
				if err != nil {
					t.Errorf("%s, %s: %q is read as %s: %v", name, argument, text, got.Calls[0].Arguments, err)
				}
			}
		}
	}
	t.Logf("%d calls, %d refused", calls, refused)
	if calls < 450*int(seeds(1)) || refused > 10 {
		t.Error("too few to tell anything")
	}
}
