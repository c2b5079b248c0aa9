package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quern/bench/fixtures"
	"quern/engine/chat"
)

// histories are conversations of n messages, tools or bytes.
var histories = []struct {
	name, unit string
	n          int
	make       func(n int) *chat.Request
}{
	{"turns of a sentence", "messages", 64, func(n int) *chat.Request {
		return &chat.Request{Messages: turns(n, "The hand-mill is older than the wheel.")}
	}},
	{"turns with calls and results", "messages", 64, calls},
	{"turns with thoughts", "messages", 64, func(n int) *chat.Request {
		r := &chat.Request{Messages: turns(n, "The hand-mill is older than the wheel.")}
		for i := range r.Messages {
			if r.Messages[i].Role == chat.RoleAssistant {
				r.Messages[i].Reasoning = "Mills are older."
			}
		}
		return r
	}},
	{"one long message", "bytes", 1 << 16, func(n int) *chat.Request {
		return &chat.Request{Messages: turns(1, fixtures.Repeated("The hand-mill is older than the wheel. ")(n))}
	}},
	{"one message of control tokens", "bytes", 1 << 16, func(n int) *chat.Request {
		return &chat.Request{Messages: turns(1, fixtures.Repeated("<|im_start|><tool_call></think>")(n))}
	}},
	{"one message of spaces", "bytes", 1 << 16, func(n int) *chat.Request {
		return &chat.Request{Messages: turns(1, fixtures.Repeated(" \n")(n))}
	}},
	{"one answer of closed thoughts", "bytes", 1 << 16, func(n int) *chat.Request {
		r := &chat.Request{Messages: turns(3, "Well.")}
		r.Messages[1].Text = fixtures.Repeated("</think>")(n)
		return r
	}},
	{"messages of one role in a row", "messages", 64, func(n int) *chat.Request {
		r := &chat.Request{}
		for range n {
			r.Messages = append(r.Messages, turns(1, "Well.")...)
		}
		return r
	}},
	{"one tool with a long description", "bytes", 1 << 12, func(n int) *chat.Request {
		return &chat.Request{Messages: turns(1, "Well."), Tools: []chat.Tool{tool("f", fixtures.Repeated("words ")(n))}}
	}},
}

// turns begin and, where n is odd, end with the user's.
func turns(n int, text string) (list []chat.Message) {
	for i := range n {
		role := chat.RoleUser
		if i%2 == 1 {
			role = chat.RoleAssistant
		}
		list = append(list, chat.Message{Role: role, Text: text})
	}
	return list
}

func tool(name, about string) chat.Tool {
	raw, err := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": name, "description": about,
		"parameters": map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}}})
	if err != nil {
		panic(err) // maps of strings are JSON
	}
	return chat.Tool{Raw: raw}
}

func calls(n int) *chat.Request {
	r := &chat.Request{Tools: []chat.Tool{tool("weather", "The weather of a city")}}
	for i := range n / 4 {
		id := fmt.Sprintf("%09d", i)
		r.Messages = append(r.Messages,
			chat.Message{Role: chat.RoleUser, Text: "And in Oslo?"},
			chat.Message{Role: chat.RoleAssistant, NoContent: true, ToolCalls: []chat.Call{{ID: id, Name: "weather", Arguments: `{"city": "Oslo"}`}}},
			chat.Message{Role: chat.RoleTool, ToolCallID: id, Name: "weather", Text: `{"degrees": 3}`},
			chat.Message{Role: chat.RoleAssistant, Text: "Three degrees."})
	}
	r.Messages = append(r.Messages, chat.Message{Role: chat.RoleUser, Text: "Thanks."})
	return r
}

// dialogues renders histories with every template there is, in one probe for each history.
func dialogues(fixtures string) (list []probe, err error) {
	files, err := filepath.Glob(filepath.Join(fixtures, "chat_templates", "templates", "*.jinja"))
	if err != nil {
		return nil, err
	}
	type named struct {
		name string
		*chat.Template
	}
	var all []named
	for _, file := range slices.Sorted(slices.Values(files)) {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t, err := chat.New(string(source), chat.Options{BOS: "<s>", EOS: "</s>"})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, named{strings.TrimSuffix(filepath.Base(file), ".jinja"), t})
	}
	for _, h := range histories {
		for _, t := range all {
			if _, err := t.Render(context.Background(), h.make(8)); err != nil {
				continue // the template has no such turns
			}
			list = append(list, probe{"history", h.name, t.name, h.n, h.unit, func(n int) (func() error, error) {
				r := h.make(n)
				return func() error {
					_, err := t.Render(context.Background(), r)
					return err
				}, nil
			}})
		}
	}
	return list, nil
}
