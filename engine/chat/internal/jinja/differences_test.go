package jinja

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// TestDifferences holds what quern means to do otherwise than Jinja, and why, and what Jinja does,
// which testdata/make_golden.py wrote.
func TestDifferences(t *testing.T) {
	const (
		address = "an object prints without its address, and its type as quern calls it"
		refused = "refused by name: HTML, chance, or a template that others extend"
		python  = "Python's own, not Jinja's: refused by name"
		limit   = "a limit, named"
		value   = "values are compared, not objects"
		missing = "not built in: undefined, as any other name"
		answer  = "an answer where Jinja fails"
		fails   = "fails as Jinja does, with other words"
		open    = "an error where Jinja is silent"
	)
	table := []struct{ template, quern, why string }{
		{`{{ [1]|map('string') }}`, "<generator object>", address},
		{`{{ list|select }}`, "<generator object>", address},
		{`{{ list|reverse }}`, "<reversed object>", address},
		{`{{ range }}`, "<builtin_function_or_method object>", address},
		{`{{ dict }}`, "<builtin_function_or_method object>", address},
		{`{{ cycler(1, 2) }}`, "<utils.Cycler object>", address},
		{`{{ s.upper }}`, "<builtin_function_or_method object>", address},
		{`{{ list|pprint }}`, "TemplateSyntaxError: no filter named 'pprint'", refused},
		{`{{ [1]|random }}`, "TemplateSyntaxError: no filter named 'random'", refused},
		{`{{ 'http://a.b'|urlize }}`, "TemplateSyntaxError: no filter named 'urlize'", refused},
		{`{{ {'a': 1}|xmlattr }}`, "TemplateSyntaxError: no filter named 'xmlattr'", refused},
		{`{{ lipsum is defined }}`, "False", missing},
		{`{% block x %}a{% endblock %}`, "TemplateSyntaxError: a chat template cannot use the \"block\" tag", refused},
		{`{% autoescape true %}{{ '<' }}{% endautoescape %}`, "TemplateSyntaxError: a chat template cannot use the \"autoescape\" tag", refused},
		{`{{ self }}`, "", missing},
		{`{{ 10 ** 5000 }}`, "limit: an integer has more than 14000 bits", limit},
		{`{{ (2 ** 15000) % 7 }}`, "limit: an integer has more than 14000 bits", limit},
		{`{{ (-8) ** 0.5 }}`, "ValueError: complex numbers are not supported", python},
		{`{{ '\N{BULLET}' }}`, "TemplateSyntaxError: character names (\\N{…}) are not supported", python},
		{`{{ s.encode() }}`, "UndefinedError: 'str object' has no attribute 'encode'", python},
		{`{{ s.translate({72: 74}) }}`, "UndefinedError: 'str object' has no attribute 'translate'", python},
		{`{{ (1.5).hex() }}`, "UndefinedError: 'float object' has no attribute 'hex'", python},
		{`{{ range(3).start }}`, "", missing},
		{`{{ range(3).index(1) }}`, "UndefinedError: 'range object' has no attribute 'index'", python},
		{`{{ 1000 is sameas 1000 }}`, "True", value},
		{`{{ list is filter }}`, "False", answer},
		{`{{ list|indent }}`, "TypeError: unsupported operand type(s) for +=: 'list' and 'str'", fails},
		{`{#`, "TemplateSyntaxError: missing end of comment tag", open},
	}
	var golden map[string]string
	readJSON(t, "testdata/differences.json", &golden)
	if len(table) != len(golden) {
		t.Errorf("%d rows; Jinja's are %d: %q", len(table), len(golden), slices.Sorted(maps.Keys(golden)))
	}
	var snippets struct{ Vars json.RawMessage }
	readJSON(t, "testdata/golden.json", &snippets)
	for _, tt := range table {
		t.Run(tt.template, func(t *testing.T) {
			vars, err := FromJSON(snippets.Vars, Outside)
			if err != nil {
				t.Fatal(err)
			}
			var got Str
			tmpl, err := Parse(tt.template)
			if err == nil {
				got, err = tmpl.Render(vars.(*Dict), Options{})
			}
			text := got.String()
			if err != nil {
				text = describe(err)
			}
			if text != tt.quern {
				t.Errorf("quern: %q, want %q (%s)", text, tt.quern, tt.why)
			}
			if jinja, ok := golden[tt.template]; !ok || text == jinja {
				t.Errorf("Jinja: %q, %v; no difference", jinja, ok)
			}
		})
	}
}
