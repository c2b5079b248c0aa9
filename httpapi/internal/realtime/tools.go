package realtime

import (
	"regexp"
	"slices"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/body"
)

// maxTools bounds the tools of a session.
const maxTools = 128

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// readTools takes the tools a reply may call, and how.
func (c *config) readTools(o *body.Object) {
	if v, ok := o.Get("tools"); ok {
		c.tools = nil
		for item := range v.Items() {
			if len(c.tools) == maxTools {
				v.Invalid("must have at most %d entries", maxTools)
				break
			}
			if t, ok := readTool(item); ok {
				if slices.ContainsFunc(c.tools, func(x tool) bool { return x.name == t.name }) {
					item.Invalid("has the name of another tool: %q", t.name)
				}
				c.tools = append(c.tools, t)
			}
		}
	}
	if v, ok := o.Get("tool_choice"); ok {
		c.choice, c.chosen = engine.ToolChoice{One: c.choice.One}, clone(v.Raw)
		c.readChoice(o, v)
	}
	if v, ok := o.Get("parallel_tool_calls"); ok {
		c.choice.One = !v.Boolean()
	}
}

// readTool takes one function and spells it as chats do: its members one level down.
func readTool(item body.Value) (t tool, ok bool) {
	o := item.Object()
	if o == nil {
		return t, false
	}
	if v, ok := o.Get("type"); ok && v.Str() != "function" {
		o.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s must be \"function\", got %.60q; other tools are not supported", v.Path(), v.Str())
	}
	name, ok := o.Need("name")
	if !ok {
		return t, false
	}
	t.name = name.Str()
	if !toolName.MatchString(t.name) {
		name.Invalid("must be 1 to 64 letters, digits, _ and -, got %.80q", t.name)
	}
	o.Str("description")
	if p, ok := o.Get("parameters"); ok {
		if schema := p.Object(); schema != nil {
			if kind, ok := schema.Get("type"); ok && (kind.Kind() != '"' || kind.Str() != "object") {
				kind.Invalid("must be \"object\": a call's arguments are one")
			}
		}
	}
	spelled := []byte(`{"type":"function","function":{`)
	first := true
	for m := range o.Members() {
		if m.Name == "type" {
			continue
		}
		if !first {
			spelled = append(spelled, ',')
		}
		first = false
		spelled = appendMember(spelled, m)
	}
	t.chat = chat.Tool{Raw: append(spelled, "}}"...)}
	t.raw = clone(item.Raw)
	return t, true
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
	case len(c.tools) == 0:
		o.Refuse(engine.CodeInvalidValue, "tool_choice", "tool_choice needs tools to choose from")
	case len(c.choice.Names) == 1 && !slices.ContainsFunc(c.tools, func(t tool) bool { return t.name == c.choice.Names[0] }):
		o.Refuse(engine.CodeInvalidValue, "tool_choice", "tool_choice must name one of tools, got %.80q", c.choice.Names[0])
	}
}

// prompted returns the tools and the choice of a prompt.
func (c *config) prompted() ([]chat.Tool, engine.ToolChoice) {
	if len(c.tools) == 0 || string(c.chosen) == `"none"` {
		return nil, engine.ToolChoice{}
	}
	list := make([]chat.Tool, len(c.tools))
	for i, t := range c.tools {
		list[i] = t.chat
	}
	return list, c.choice
}
