package openai

import (
	"bytes"
	"slices"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/body"
)

// readTools reads the tools a reply may call, and how. None are left with
// "tool_choice": "none", and what they are then does not matter.
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
	var tools []chat.Tool
	var names []string
	for item := range o.Items("tools") {
		if len(tools) == chat.MaxTools {
			o.Refuse(engine.CodeInvalidValue, "tools", "tools must have at most %d entries", chat.MaxTools)
			break
		}
		name := readTool(item, names)
		names = append(names, name)
		tools = append(tools, chat.Tool{Raw: bytes.Clone(item.Raw)})
	}
	if chosen {
		readChoice(o, v, names, &choice)
	}
	if len(tools) == 0 {
		return nil, engine.ToolChoice{}
	}
	return tools, choice
}

// readTool checks one tool and returns its name, which is none of those before.
func readTool(item body.Value, before []string) string {
	t := item.Object()
	if t == nil {
		return ""
	}
	if v, ok := t.Need("type"); ok && v.Str() != "function" {
		t.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s must be \"function\", got %.60q; other tools are not supported", v.Path(), v.Str())
	}
	v, ok := t.Need("function")
	if !ok {
		return ""
	}
	f := v.Object()
	if f == nil {
		return ""
	}
	f.Str("description")
	f.Boolean("strict", false)
	if p, ok := f.Get("parameters"); ok {
		if schema := p.Object(); schema != nil {
			if kind, ok := schema.Get("type"); ok && (kind.Kind() != '"' || kind.Str() != "object") {
				kind.Invalid("must be \"object\": a call's arguments are one")
			}
		}
	}
	name, ok := f.Need("name")
	if !ok {
		return ""
	}
	text := name.Str()
	switch {
	case !chat.ToolName.MatchString(text):
		name.Invalid("must be 1 to 64 letters, digits, _ and -, got %.80q", text)
	case slices.Contains(before, text):
		name.Invalid("is the name of another tool: %q", text)
	}
	return text
}

// readChoice reads tool_choice, which is not none.
func readChoice(o *body.Object, v body.Value, names []string, choice *engine.ToolChoice) {
	named := func(v body.Value) string {
		name := v.Str()
		if !slices.Contains(names, name) {
			v.Invalid("must be the name of one of tools, got %.80q", name)
		}
		return name
	}
	function := func(t *body.Object) string {
		if t == nil {
			return ""
		}
		if kind, ok := t.Need("type"); ok && kind.Str() != "function" {
			kind.Invalid("must be \"function\", got %.60q", kind.Str())
		}
		if f := t.Object("function"); f != nil {
			if name, ok := f.Need("name"); ok {
				return named(name)
			}
			return ""
		}
		if name, ok := t.Get("name"); ok { // as the Responses API spells it
			return named(name)
		}
		t.Need("function")
		return ""
	}
	switch v.Kind() {
	case '"':
		choice.Required = o.OneOf("tool_choice", "none", "auto", "required") == "required"
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
	if choice.Required && len(names) == 0 {
		o.Refuse(engine.CodeInvalidValue, "tool_choice", "tool_choice needs tools to choose from")
	}
}
