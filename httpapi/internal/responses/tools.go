package responses

import (
	"bytes"
	"encoding/json"
	"slices"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// readTools reads the tools a reply may call, and how, and sets how both are shown.
func (a *api) readTools(c *server.Call, o *body.Object, r *request) ([]chat.Tool, engine.ToolChoice) {
	choice := engine.ToolChoice{One: !o.Boolean("parallel_tool_calls", true)}
	r.object.Parallel = !choice.One
	r.object.Tools, r.object.ToolChoice = []json.RawMessage{}, json.RawMessage(`"auto"`)
	var tools ask.Tools
	tools.Read(o, func(t *body.Object) { a.readTool(c, t, &tools, &r.object) })
	if v, ok := o.Get("tool_choice"); ok {
		r.object.ToolChoice = bytes.Clone(v.Raw)
		if !readChoice(v, &tools, &choice) {
			return nil, engine.ToolChoice{}
		}
	}
	return tools.Choose(o, choice)
}

// readTool adds one tool, a function.
func (a *api) readTool(c *server.Call, t *body.Object, tools *ask.Tools, shown *object) {
	v, ok := t.Need("type")
	if !ok {
		return
	}
	if kind := v.Str(); kind != "function" {
		if v.Ok() && !a.Options.Responses.OwnTools {
			c.Warn(t.Path() + " is left out: this server runs no tools of type " + kind)
			return
		}
		v.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s is %.60q, and this server runs no tools of its own: send functions and answer their calls, or leave the tool out", v.Path(), kind)
		return
	}
	tools.Add(t, "parameters", ask.Function(t, map[string]string{"type": ""}))
	shown.Tools = append(shown.Tools, complete(t, "description", "parameters", "strict"))
}

// complete is an object as it came, with null for members it lacks.
func complete(o *body.Object, members ...string) json.RawMessage {
	raw := bytes.Clone(o.Raw)
	for _, name := range members {
		if _, ok := o.Sent(name); !ok {
			raw = append(raw[:len(raw)-1], `,"`+name+`":null}`...)
		}
	}
	return raw
}

// readChoice reads tool_choice; false is none.
func readChoice(v body.Value, tools *ask.Tools, choice *engine.ToolChoice) bool {
	switch v.Kind() {
	case '"':
		s := v.OneOf("none", "auto", "required")
		choice.Required = s == "required"
		return s != "none"
	case '{':
	default:
		v.Wrong("a string or an object")
		return true
	}
	t := v.Object()
	if t == nil {
		return true
	}
	kind, ok := t.Need("type")
	if !ok {
		return true
	}
	switch kind.Str() {
	case "function":
		if name := namedTool(t, tools); name != "" {
			choice.Required, choice.Names = true, []string{name}
		}
	case "allowed_tools":
		t.Need("mode")
		choice.Required = t.OneOf("mode", "auto", "required") == "required"
		allowed, ok := t.Need("tools")
		if !ok {
			return true
		}
		choice.Names = []string{}
		for item := range allowed.Items() {
			f := item.Object()
			if f == nil {
				break
			}
			if kind, ok := f.Need("type"); ok && kind.Str() != "function" {
				refuseChoice(kind)
				break
			}
			if name := namedTool(f, tools); !slices.Contains(choice.Names, name) {
				choice.Names = append(choice.Names, name)
			}
		}
		if len(choice.Names) == 0 {
			allowed.Invalid("must name at least one tool")
		}
	default:
		refuseChoice(kind)
	}
	return true
}

func namedTool(f *body.Object, tools *ask.Tools) string {
	name, ok := f.Need("name")
	if !ok {
		return ""
	}
	return tools.Named(name)
}

func refuseChoice(kind body.Value) {
	kind.Refuse(engine.CodeUnsupportedParam, kind.Path(), "%s is %.60q, and this server runs no tools of its own; it must be function or allowed_tools", kind.Path(), kind.Str())
}
