package anthropic

import (
	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// toolMembers are the members of tools that have other names in templates, and those that
// are for the vendor's servers.
var toolMembers = map[string]string{
	"input_schema": "parameters", "type": "", "cache_control": "", "defer_loading": "", "allowed_callers": "",
	"eager_input_streaming": "", "input_examples": "",
}

// longestName is how long names of tools may be.
const longestName = 128

// readTools reads the tools a reply may call, and how. None are left where it may call none.
func readTools(o *body.Object) ([]chat.Tool, engine.ToolChoice) {
	tools := ask.Tools{Longest: longestName}
	tools.Read(o, func(t *body.Object) {
		if kind := t.Str("type"); kind != "" && kind != "custom" {
			t.Refuse(engine.CodeUnsupportedParam, t.Path(), "%s is of type %.60q, which only its vendor's servers or models know; describe it by a name and an input_schema", t.Path(), kind)
		}
		t.Need("input_schema")
		tools.Add(t, "input_schema", ask.Function(t, toolMembers))
	})
	choice, none := readChoice(o, &tools)
	list, choice := tools.Choose(o, choice)
	if none {
		return nil, engine.ToolChoice{}
	}
	return list, choice
}

// readChoice reads tool_choice. none is a choice of no tool.
func readChoice(o *body.Object, tools *ask.Tools) (choice engine.ToolChoice, none bool) {
	t := o.Object("tool_choice")
	if t == nil {
		return choice, false
	}
	choice.One = t.Boolean("disable_parallel_tool_use", false)
	t.Need("type")
	switch t.OneOf("type", "auto", "any", "tool", "none") {
	case "none":
		return choice, true
	case "any":
		choice.Required = true
	case "tool":
		choice.Required = true
		if v, ok := t.Need("name"); ok {
			choice.Names = []string{tools.Named(v)}
		}
	}
	return choice, false
}
