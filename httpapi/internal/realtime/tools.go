package realtime

import (
	"encoding/json"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// readTools takes the tools a reply may call, and how.
func (c *config) readTools(o *body.Object) {
	if o.Has("tools") {
		c.tools, c.toolsSent = ask.Tools{}, []json.RawMessage{}
		c.tools.Read(o, func(t *body.Object) {
			readTool(t, &c.tools)
			c.toolsSent = append(c.toolsSent, clone(t.Raw))
		})
	}
	if v, ok := o.Get("tool_choice"); ok {
		c.choice, c.chosen = engine.ToolChoice{One: c.choice.One}, clone(v.Raw)
		c.readChoice(o, v)
	}
	if v, ok := o.Get("parallel_tool_calls"); ok {
		c.choice.One = !v.Boolean()
	}
}

// readTool takes one function, whose members are beside its type.
func readTool(o *body.Object, tools *ask.Tools) {
	if v, ok := o.Get("type"); ok && v.Str() != "function" {
		o.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s must be \"function\", got %.60q; other tools are not supported", v.Path(), v.Str())
	}
	tools.Add(o, "parameters", ask.Function(o, map[string]string{"type": ""}))
}

// readChoice takes tool_choice.
func (c *config) readChoice(o *body.Object, v body.Value) {
	switch v.Kind() {
	case '"':
		c.choice.Required = o.OneOf("tool_choice", "none", "auto", "required") == "required"
	case '{':
		t := v.Object()
		if t == nil {
			return
		}
		t.Need("type")
		if kind := t.Str("type"); kind != "function" {
			t.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s.type must be \"function\", got %.60q", v.Path(), kind)
		}
		if name, ok := t.Need("name"); ok {
			c.choice.Required, c.choice.Names = true, []string{name.Str()}
		}
	default:
		v.Wrong("a string or an object")
	}
}

// checkChoice refuses a choice among tools there are not.
func (c *config) checkChoice(o *body.Object) {
	switch {
	case !c.choice.Required || !o.Ok():
	case c.tools.Len() == 0:
		o.Refuse(engine.CodeInvalidValue, "tool_choice", "tool_choice needs tools to choose from")
	case len(c.choice.Names) == 1 && !c.tools.Has(c.choice.Names[0]):
		o.Refuse(engine.CodeInvalidValue, "tool_choice", "tool_choice must name one of tools, got %.80q", c.choice.Names[0])
	}
}

// prompted returns the tools and the choice of a prompt.
func (c *config) prompted() ([]chat.Tool, engine.ToolChoice) {
	if c.tools.Len() == 0 || string(c.chosen) == `"none"` {
		return nil, engine.ToolChoice{}
	}
	return c.tools.List, c.choice
}
