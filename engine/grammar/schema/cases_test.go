package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quern/engine/grammar"
)

// TestCases are what TestDiffer and hands found wrong, one by one.
func TestCases(t *testing.T) {
	trie := byteTrie(t)
	for _, x := range []struct {
		about, schema  string
		valid, invalid []string
		at             string // where it is refused, if it is
	}{
		{about: "a constant evaluates nothing", schema: `{"const":{"a":1},"unevaluatedProperties":false}`,
			at: ""},
		{about: "a constant evaluates nothing", schema: `{"enum":[[1],[]],"unevaluatedItems":false}`,
			valid: []string{`[]`}, invalid: []string{`[1]`}},
		{about: "if alone says nothing", schema: `{"if":{"maxProperties":1}}`,
			valid: []string{`{}`, `{"a":1}`, `{"a":1,"b":2}`, `3`}},
		{about: "if alone evaluates", schema: `{"if":{"properties":{"a":{"const":1}},"required":["a"]},"unevaluatedProperties":false}`,
			valid: []string{`{}`, `{"a":1}`}, invalid: []string{`{"a":2}`, `{"b":1}`}},
		{about: "contains evaluates, even none", schema: `{"contains":{"type":"string"},"minContains":0,"unevaluatedItems":false}`,
			at: "/unevaluatedItems"},
		{about: "in 2019 contains evaluates nothing", schema: `{"$schema":"https://json-schema.org/draft/2019-09/schema","contains":{"const":1},"unevaluatedItems":{"type":"integer"}}`,
			valid: []string{`[1]`, `[2,1]`}, invalid: []string{`[]`, `[2]`, `[1,"a"]`}},
		{about: "a count is refused at its keyword", schema: `{"$defs":{"d":{"maxProperties":3}},"properties":{"a":{"not":{"$ref":"#/$defs/d"}}}}`,
			at: "/$defs/d/maxProperties"},
		{about: "a count is refused at its keyword", schema: `{"allOf":[{"minProperties":1},{"minProperties":2}]}`,
			at: "/allOf/1/minProperties"},
		{about: "a value is refused at its keyword", schema: `{"not":{"enum":[{"a":1},{"b":1},{"c":1},{"d":1}],"additionalProperties":{"not":{}}}}`,
			at: "/not/enum"},
		{about: "a name alone refutes", schema: `{"oneOf":[{},{"additionalProperties":{"minProperties":1}},{"patternProperties":{"[^a]":{"anyOf":[false]}}}]}`,
			valid: []string{`{"ab":[true],"a":{}}`, `{"b":{}}`}, invalid: []string{`{}`, `{"a":{}}`, `{"b":1}`}},
		{about: "two values that differ have no order", schema: `{"allOf":[{"not":{"patternProperties":{"^a":{"const":1}}}},{"not":{"patternProperties":{"b$":{"const":2}}}}]}`,
			at: "/allOf/1/not/patternProperties"},
		{about: "a condition before the properties leaves their order", schema: `{"allOf":[{"if":{"properties":{"c":{"const":1}},"required":["c"]},"then":{"properties":{"d":{"const":2}}}}],"properties":{"a":{},"c":{"type":"integer"},"d":{"type":"integer"}},"additionalProperties":false}`,
			valid: []string{`{"a":0,"c":1,"d":2}`, `{"a":0,"c":2,"d":3}`, `{"c":1}`}, invalid: []string{`{"a":0,"c":1,"d":3}`}},
		{about: "so does what depends on a member", schema: `{"dependentSchemas":{"a":{"properties":{"b":{"minLength":2}}}},"properties":{"a":{},"b":{"type":"string"}}}`,
			valid: []string{`{"a":0,"b":"xx"}`, `{"b":"x"}`}, invalid: []string{`{"a":0,"b":"x"}`}},
		{about: "elements are refused at their keyword", schema: `{"not":{"anyOf":[{"items":{"const":1}},{"items":{"const":2}},{"items":{"const":3}},{"items":{"const":4}}]}}`,
			at: "/not/anyOf/0/items"},
	} {
		g, _, err := Compile([]byte(x.schema), trie, grammar.Limits{}, Options{})
		if len(x.valid)+len(x.invalid) == 0 {
			var e *Error
			if !errors.As(err, &e) || e.Pointer != x.at {
				t.Errorf("%s: %s: %v; want it refused at %q", x.about, x.schema, err, x.at)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %s: %v", x.about, x.schema, err)
			continue
		}
		for _, text := range x.valid {
			if err := reach(g, text); err != nil {
				t.Errorf("%s: %s: %s is valid, but: %v", x.about, x.schema, text, err)
			}
		}
		for _, text := range x.invalid {
			if reach(g, text) == nil {
				t.Errorf("%s: %s: %s is not valid, but passes", x.about, x.schema, text)
			}
		}
	}
}

// TestOneOfMany: exactly one of many takes parts in proportion to their number, so that
// lists of constants stay within the default limits.
func TestOneOfMany(t *testing.T) {
	var parts []string
	for i := range 2000 {
		parts = append(parts, fmt.Sprintf(`{"const":"word %d"}`, i))
	}
	g, _, err := Compile([]byte(`{"oneOf":[`+strings.Join(parts, ",")+`,{"const":"word 7"}]}`), byteTrie(t), grammar.Limits{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`"word 8"`: true, `"word 1999"`: true, `"word 7"`: false, `"word 2000"`: false, `"word"`: false} {
		if err := reach(g, text); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
