package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"quern/engine/wire"
)

// WithTools returns a request as the template can show it, and the format in
// which it is answered. A template that shows tools gets the request as it is.
//
// For another, the tools are described in the system message, or in the first
// turn where the template refuses those: a line of JSON for each, and what a
// call looks like in the format. Calls and results of earlier turns become text
// too, unless the template shows calls. A template that shows neither is
// answered in hermes-json. The added text counts as the client's: it spells
// no control tokens.
func (t *Template) WithTools(found wire.Found, req *Request) (*Request, *wire.Format, error) {
	if found.Tools || len(req.Tools) == 0 {
		return req, found.Format, nil
	}
	format := found.Format
	if !found.Calls {
		hermes, _ := wire.Find("hermes-json")
		own := *hermes
		own.Think = format.Think
		format = &own
	}
	text, err := toolText(format, req.Tools)
	if err != nil {
		return nil, nil, err
	}
	out := *req
	out.Tools = nil
	out.Messages = slices.Clone(req.Messages)
	if !found.Calls {
		for i := range out.Messages {
			if out.Messages[i], err = asText(format, out.Messages[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	at := slices.IndexFunc(out.Messages, func(m Message) bool { return m.Role == RoleSystem })
	switch system := t.showsSystem(); {
	case system && at >= 0:
		m := &out.Messages[at]
		m.Text, m.Parts = m.text()+gap+text, nil
	case system:
		out.Messages = slices.Insert(out.Messages, 0, Message{Role: RoleSystem, Text: text})
	default:
		at = slices.IndexFunc(out.Messages, func(m Message) bool { return m.Role == RoleUser })
		if at < 0 {
			return nil, nil, fmt.Errorf("%w: no message can hold the tools, since the template has no system message; add one of the user", ErrRequest)
		}
		m := &out.Messages[at]
		m.Text, m.Parts = text+gap+m.text(), nil
	}
	return &out, format, nil
}

// toolText describes tools to a model whose template does not.
func toolText(format *wire.Format, tools []Tool) (string, error) {
	var b strings.Builder
	b.WriteString("# Tools\n\nYou may call these functions. Each is given as JSON, with a schema of its arguments:\n<tools>\n")
	for i, tool := range tools {
		var line bytes.Buffer
		if err := json.Compact(&line, tool.Raw); err != nil {
			return "", fmt.Errorf("%w: tool %d: %w", ErrRequest, i, err)
		}
		b.Write(line.Bytes())
		b.WriteString("\n")
	}
	example, err := format.Write([]wire.Call{{ID: probeID, Name: "function_name", Arguments: `{"argument_name": "value"}`}})
	if err != nil {
		return "", err
	}
	b.WriteString("</tools>\n\nA call is written like this, with the function's name and its arguments:\n")
	b.WriteString(strings.TrimSpace(example))
	b.WriteString("\n\nWrite one call for each function you need, then stop: the results come in the next turn, between <tool_response> and </tool_response>. " +
		"Answer in words if you need no function.")
	return b.String(), nil
}

// asText writes the calls or the result a message holds as text.
func asText(format *wire.Format, m Message) (Message, error) {
	switch {
	case m.Role == RoleTool:
		return Message{Role: RoleUser, Text: "<tool_response>\n" + m.text() + "\n</tool_response>"}, nil
	case len(m.ToolCalls) > 0:
		calls := make([]wire.Call, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = wire.Call{ID: c.ID, Name: c.Name, Arguments: c.arguments()}
		}
		text, err := format.Write(calls)
		if err != nil {
			return m, fmt.Errorf("%w: %w", ErrRequest, err)
		}
		if said := m.text(); said != "" {
			text = said + "\n" + text
		}
		m.Text, m.Parts, m.NoContent, m.ToolCalls = text, nil, false, nil
	}
	return m, nil
}

// showsSystem reports whether the template prints a system message.
func (t *Template) showsSystem() bool {
	p := prober{t}
	out, ok := p.render(t.wants, Message{Role: RoleSystem, Text: needle}, Message{Role: RoleUser, Text: "Hi"})
	return ok && strings.Contains(out, needle)
}
