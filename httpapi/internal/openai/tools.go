package openai

import (
	"slices"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// readTools reads the tools a reply may call, and how. None are left with
// "tool_choice": "none", and they are then not checked.
func readTools(o *body.Object) ([]chat.Tool, engine.ToolChoice) {
	for _, name := range []string{"functions", "function_call"} {
		if o.Has(name) {
			o.Refuse(engine.CodeUnsupportedParam, name, "%s is the old form of tools and is not supported; use tools and tool_choice", name)
		}
	}
	choice := engine.ToolChoice{One: !o.Boolean("parallel_tool_calls", true)}
	v, chosen := o.Get("tool_choice")
	if chosen && v.Kind() == '"' && v.Str() == "none" {
		for item := range o.Items("tools") {
			item.Object()
		}
		return nil, engine.ToolChoice{}
	}
	var tools ask.Tools
	tools.Read(o, func(t *body.Object) { readTool(t, &tools) })
	if chosen {
		readChoice(v, &tools, &choice)
	}
	return tools.Choose(o, choice)
}

// readTool adds one tool.
func readTool(t *body.Object, tools *ask.Tools) {
	if v, ok := t.Need("type"); ok && v.Str() != "function" {
		t.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s must be \"function\", got %.60q; other tools are not supported", v.Path(), v.Str())
	}
	if v, ok := t.Need("function"); ok {
		if f := v.Object(); f != nil {
			tools.Add(f, "parameters", t.Raw)
		}
	}
}

// readChoice reads tool_choice, which is not none.
func readChoice(v body.Value, tools *ask.Tools, choice *engine.ToolChoice) {
	function := func(t *body.Object) string {
		if t == nil {
			return ""
		}
		if kind, ok := t.Need("type"); ok && kind.Str() != "function" {
			kind.Invalid("must be \"function\", got %.60q", kind.Str())
		}
		if f := t.Object("function"); f != nil {
			if name, ok := f.Need("name"); ok {
				return tools.Named(name)
			}
			return ""
		}
		if name, ok := t.Get("name"); ok { // as the Responses API spells it
			return tools.Named(name)
		}
		t.Need("function")
		return ""
	}
	switch v.Kind() {
	case '"':
		choice.Required = v.OneOf("none", "auto", "required") == "required"
	case '{':
		t := v.Object()
		if kind := t.OneOf("type", "function", "allowed_tools"); kind != "allowed_tools" {
			choice.Required, choice.Names = true, []string{function(t)}
			break
		}
		allowed := t.Object("allowed_tools")
		if allowed == nil {
			t.Need("allowed_tools")
			return
		}
		allowed.Need("mode")
		choice.Required = allowed.OneOf("mode", "auto", "required") == "required"
		list, ok := allowed.Need("tools")
		if !ok {
			return
		}
		for item := range list.Items() {
			if name := function(item.Object()); !slices.Contains(choice.Names, name) {
				choice.Names = append(choice.Names, name)
			}
		}
		if len(choice.Names) == 0 {
			list.Invalid("must name at least one tool")
		}
	default:
		v.Wrong("a string or an object")
	}
}
