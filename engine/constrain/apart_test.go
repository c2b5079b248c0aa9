package constrain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/token"
	"quern/engine/wire"
)

// passes reports whether a reply may be text, byte by byte, and then end.
func passes(g *Grammar, text string) bool {
	m := g.Mask()
	for i := range len(text) {
		if m.Accept(token.ID(text[i])) != nil {
			return false
		}
	}
	return m.MayEnd()
}

// A form whose texts might be taken for thinking goes without, and one whose texts might be
// taken for calls is refused.
func TestApart(t *testing.T) {
	v := markedVocab(t)
	form := func(f engine.Form, source string) *engine.Constraint {
		return &engine.Constraint{Form: f, Source: source, Param: "form"}
	}
	tool := wire.Tool{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
	for _, tt := range []struct {
		name, format string
		form         *engine.Constraint
		tools        bool
		marked       bool // the markers of calls are tokens
		code         engine.Code
		thinks       bool
	}{
		{"JSON", "hermes-json", form(engine.FormObject, ""), true, false, "", true},
		{"a word", "hermes-json", choice("yes", "no"), true, false, "", true},
		{"half a marker", "hermes-json", choice("<", "<think", "<tool_call"), true, false, "", true},
		{"thinking", "hermes-json", form(engine.FormRegex, "<think>.*"), true, false, "", false},
		{"anything", "hermes-json", form(engine.FormRegex, "(.|\n)*"), false, false, "", false},
		{"a call", "hermes-json", form(engine.FormRegex, "<tool.*"), true, false, engine.CodeToolFormat, false},
		{"a call without tools", "hermes-json", form(engine.FormRegex, "<tool.*"), false, false, "", true},
		{"what no text spells", "hermes-json", form(engine.FormRegex, "<tool.*"), true, true, "", true},
		{"a token", "hermes-json", form(engine.FormGrammar, `root ::= <tool_call> "x"`), true, true, engine.CodeToolFormat, false},
		{"a name", "bare-json", form(engine.FormSchema, `{"type":"object","properties":{"name":{"enum":["g"]}},"required":["name"],"additionalProperties":false}`), true, false, "", true},
		{"a tool's name", "bare-json", form(engine.FormSchema, `{"type":"object","properties":{"name":{"enum":["f","g"]}},"required":["name"],"additionalProperties":false}`), true, false, engine.CodeToolFormat, false},
		{"any object", "llama3-json", form(engine.FormObject, ""), true, false, engine.CodeToolFormat, false},
		{"a list", "llama4-pythonic", form(engine.FormSchema, `{"type":"array","items":{"type":"integer"}}`), true, false, "", false},
		{"a grammar's object", "bare-json", form(engine.FormGrammar, `root ::= "{ }"`), true, false, engine.CodeToolFormat, false},
		{"headers", "harmony", form(engine.FormRegex, "(.|\n)*"), true, false, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := callsOf(v, tt.format, false)
			if tt.tools {
				k = callsOf(v, tt.format, false, tool)
			}
			c := New(v)
			if tt.marked {
				c = New(v, 256, 257)
			} else {
				k.Token = nil
			}
			k.Form, k.MayThink = tt.form, k.Format.Think.Close != "" || k.Format.Channel != nil
			g, err := c.Calls(t.Context(), k)
			var refused *engine.Error
			if err != nil && !errors.As(err, &refused) || refused != nil && (refused.Code != tt.code || refused.Param != "form") || refused == nil && tt.code != "" {
				t.Fatalf("got %v, want %q", err, tt.code)
			}
			if err == nil && g.MayThink != tt.thinks {
				t.Errorf("may think: %v, want %v", g.MayThink, tt.thinks)
			}
		})
	}
}

// A grammar of a form beside tools is that of the form and the tools, and no other.
func TestFormsBesideTools(t *testing.T) {
	v := markedVocab(t)
	c := New(v, 256, 257)
	of := func(form *engine.Constraint) *Calls {
		k := callsOf(v, "hermes-json", false, wire.Tool{Name: "f"})
		k.Form, k.Name = form, "calls#"
		return k
	}
	yes, err := c.Calls(t.Context(), of(choice("yes")))
	if err != nil {
		t.Fatal(err)
	}
	no, err := c.Calls(t.Context(), of(choice("no")))
	if err != nil {
		t.Fatal(err)
	}
	free, err := c.Calls(t.Context(), of(nil))
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Calls(t.Context(), of(choice("yes")))
	if err != nil || again != yes {
		t.Errorf("made again: %v", err)
	}
	if !passes(yes, "yes") || passes(yes, "no") || !passes(no, "no") || passes(no, "yes") || !passes(free, "words") {
		t.Error("the words are not of the form")
	}
	for _, g := range []*Grammar{yes, no, free} {
		if m := g.Mask(); m.MayEnd() != (g == free) || !m.Allows(256) {
			t.Errorf("at the beginning: may end %v, may call %v", m.MayEnd(), m.Allows(256))
		}
	}
	// A client's rules may be called anything a grammar can name.
	if _, err := c.Calls(t.Context(), of(&engine.Constraint{Form: engine.FormGrammar, Source: "root ::= callswire1-words\ncallswire1-words ::= \"x\"", Param: "grammar"})); err != nil {
		t.Error(err)
	}
}

// An error of a form names the form, beside tools too.
func TestFormBesideToolsRefused(t *testing.T) {
	v := markedVocab(t)
	for _, tt := range []struct {
		form  *engine.Constraint
		code  engine.Code
		param string
	}{
		{&engine.Constraint{Form: engine.FormSchema, Source: `{"type":"no"}`, Param: "response_format.json_schema.schema"}, engine.CodeInvalidSchema, "response_format.json_schema.schema/type"},
		{&engine.Constraint{Form: engine.FormGrammar, Source: `root ::= (`, Param: "grammar"}, engine.CodeInvalidGrammar, "grammar"},
		{&engine.Constraint{Form: engine.FormRegex, Source: `(?=x)`, Param: "regex"}, engine.CodeInvalidGrammar, "regex"},
		{choice(), engine.CodeInvalidGrammar, "choice"},
		{choice(strings.Repeat("x", maxSource+1)), engine.CodeInvalidGrammar, "choice"},
	} {
		for _, tools := range [][]wire.Tool{nil, {{Name: "f"}}} {
			k := callsOf(v, "hermes-json", false, tools...)
			k.Form = tt.form
			_, err := New(v).Calls(t.Context(), k)
			var e *engine.Error
			if !errors.As(err, &e) || e.Code != tt.code || !strings.HasPrefix(e.Param, tt.param) {
				t.Errorf("got %+v, want %s of %s", err, tt.code, tt.param)
			}
		}
	}
}
