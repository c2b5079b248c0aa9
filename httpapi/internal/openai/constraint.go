package openai

import (
	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// A formField is a field that demands a form of the reply. read returns nil when it
// demands none, or after an error.
type formField struct {
	name string
	read func(o *body.Object, name string) *engine.Constraint
}

// formFields are those of OpenAI, llama-server and vLLM. No two may be used together.
var formFields = []formField{
	{"response_format", responseFormat},
	{"json_schema", ask.Schema},
	{"grammar", ask.Grammar},
	{"regex", regexField},
	{"guided_json", ask.Schema},
	{"guided_regex", regexField},
	{"guided_choice", choiceField},
	{"guided_grammar", ask.Grammar},
	{"structured_outputs", structuredOutputs},
}

// structuredFields are the members of vLLM's structured_outputs.
var structuredFields = []formField{
	{"json", ask.Schema},
	{"regex", regexField},
	{"choice", choiceField},
	{"grammar", ask.Grammar},
	{"json_object", objectField},
}

// otherForms are fields that change what a form means; leaving them out would
// give another reply than was asked for.
var otherForms = []ask.Other{
	{Name: "guided_whitespace_pattern", Off: ask.Empty}, {Name: "structural_tag", Off: ask.Empty}, {Name: "whitespace_pattern", Off: ask.Empty},
	{Name: "disable_any_whitespace", Off: false}, {Name: "disable_additional_properties", Off: false},
}

// readConstraint reads the fields that demand a form of the reply.
func readConstraint(o *body.Object) *engine.Constraint {
	o.Ignore("guided_decoding_backend")
	ask.RefuseOthers(o, otherForms)
	return oneForm(o, formFields)
}

// oneForm reads the field, if any, that demands a form.
func oneForm(o *body.Object, fields []formField) *engine.Constraint {
	var out *engine.Constraint
	first := ""
	for _, f := range fields {
		c := f.read(o, f.name)
		switch {
		case c == nil:
		case out != nil:
			v, _ := o.Get(f.name)
			w, _ := o.Get(first)
			v.Refuse(engine.CodeInvalidValue, v.Path(), "%s and %s both say what form the reply has; send only one of them", w.Path(), v.Path())
			return nil
		default:
			out, first = c, f.name
		}
	}
	return out
}

func responseFormat(o *body.Object, name string) *engine.Constraint {
	f := o.Object(name)
	if f == nil {
		return nil
	}
	f.Need("type")
	switch f.OneOf("type", "text", "json_object", "json_schema") {
	case "json_object":
		if f.Has("schema") {
			return ask.Schema(f, "schema")
		}
		return &engine.Constraint{Form: engine.FormObject, Param: f.Path()}
	case "json_schema":
		f.Need("json_schema")
		s := f.Object("json_schema")
		if s == nil {
			return nil
		}
		s.Str("name")
		s.Str("description")
		s.Need("schema")
		c := ask.Schema(s, "schema")
		if strict := s.Boolean("strict", false); c != nil {
			c.Strict = strict
		}
		return c
	}
	return nil
}

func regexField(o *body.Object, name string) *engine.Constraint {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	return &engine.Constraint{Form: engine.FormRegex, Source: v.Str(), Param: v.Path()}
}

// maxChoices bounds the texts a reply may be one of.
const maxChoices = 10_000

func choiceField(o *body.Object, name string) *engine.Constraint {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	c := &engine.Constraint{Form: engine.FormChoice, Param: v.Path()}
	for item := range v.Items() {
		if len(c.Choices) == maxChoices {
			v.Invalid("must have at most %d entries", maxChoices)
			return nil
		}
		c.Choices = append(c.Choices, item.Str())
	}
	if len(c.Choices) == 0 && v.Ok() {
		v.Invalid("must not be empty")
	}
	return c
}

func objectField(o *body.Object, name string) *engine.Constraint {
	if !o.Boolean(name, false) {
		return nil
	}
	v, _ := o.Get(name)
	return &engine.Constraint{Form: engine.FormObject, Param: v.Path()}
}

func structuredOutputs(o *body.Object, name string) *engine.Constraint {
	s := o.Object(name)
	if s == nil {
		return nil
	}
	s.Ignore("disable_fallback")
	ask.RefuseOthers(s, otherForms)
	c := oneForm(s, structuredFields)
	if c == nil && o.Ok() {
		s.Invalid("must have one of json, regex, choice, grammar and json_object")
	}
	return c
}
