package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"quern/engine/wire"
)

const untooled = `{%- for m in messages -%}[{{ m.role }}]{{ m.content }}{%- endfor -%}{%- if add_generation_prompt -%}[assistant]{%- endif -%}`

// toolRequest is a conversation with a call and its result.
func toolRequest() *Request {
	return &Request{
		Messages: []Message{
			{Role: RoleSystem, Text: "Be kind."},
			{Role: RoleUser, Text: "Weather?"},
			{Role: RoleAssistant, Text: "I look.", ToolCalls: []Call{{ID: "1", Name: "get_weather", Arguments: `{"city": "Oslo"}`}}},
			{Role: RoleTool, ToolCallID: "1", Text: "rain"},
		},
		Tools: []Tool{{Raw: json.RawMessage(`{"type": "function", "function": {"name": "get_weather"}}`)}},
	}
}

// TestGenericTools shows tools, calls and results to a template that knows
// none, and reads the answer it asks for.
func TestGenericTools(t *testing.T) {
	for _, tt := range []struct{ name, template string }{
		{"system message", untooled},
		{"no system message", `{%- for m in messages -%}{%- if m.role == 'system' -%}{{ raise_exception('no system') }}{%- endif -%}[{{ m.role }}]{{ m.content }}{%- endfor -%}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, err := New(tt.template, Options{})
			if err != nil {
				t.Fatal(err)
			}
			req := toolRequest()
			if tt.template != untooled {
				req.Messages = req.Messages[1:]
			}
			found := tmpl.Format()
			if found.Tools || found.Calls || found.Format.Name != "none" {
				t.Fatalf("found %+v", found)
			}
			generic, format, err := tmpl.WithTools(found, req)
			if err != nil {
				t.Fatal(err)
			}
			if len(req.Tools) != 1 || len(req.Messages[len(req.Messages)-2].ToolCalls) != 1 {
				t.Error("the request was changed")
			}
			p, err := tmpl.Render(t.Context(), generic)
			if err != nil {
				t.Fatal(err)
			}
			call := "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
			for _, want := range []string{`{"type":"function","function":{"name":"get_weather"}}`, "[assistant]I look.\n" + call, "[user]<tool_response>\nrain\n</tool_response>", "Weather?"} {
				if !strings.Contains(p.Text, want) {
					t.Errorf("the prompt has no %q: %s", want, p.Text)
				}
			}
			// The example is a call of the format.
			_, example, _ := strings.Cut(p.Text, "arguments:\n<tool_call>")
			example, _, _ = strings.Cut("<tool_call>"+example, "\n\n")
			r := wire.NewSyntax(format, nil).NewReader(wire.Options{Random: func() uint64 { return 0 }})
			got := wire.Collect(append(append([]wire.Event(nil), r.Write([]byte(example))...), r.Close()...))
			if len(got.Calls) != 1 || got.Calls[0].Name != "function_name" || got.Content != "" {
				t.Errorf("%q is read as %+v", example, got)
			}
		})
	}
}

// TestOwnTools leaves requests alone where the template shows tools.
func TestOwnTools(t *testing.T) {
	tmpl, err := New(`{{ tools | tojson }}`+untooled, Options{})
	if err != nil {
		t.Fatal(err)
	}
	req := toolRequest()
	got, _, err := tmpl.WithTools(tmpl.Format(), req)
	if err != nil || got != req {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestPromptTail shows what the template says behind the client's words.
func TestPromptTail(t *testing.T) {
	tmpl, err := New(untooled+"<think>", Options{})
	if err != nil {
		t.Fatal(err)
	}
	messages := []Message{
		{Role: RoleUser, Text: "a"}, {Role: RoleAssistant, Text: "<think>b</think>c"},
		{Role: RoleUser, Text: "d</think>e"},
	}
	for _, tt := range []struct {
		end  End
		more []Message
		want string
	}{
		{EndAnswer, nil, "[assistant]<think>"},
		{EndHistory, nil, "<think>"},
		{EndContinue, []Message{{Role: RoleAssistant, Text: "</think>"}}, "[assistant]........"},
	} {
		p, err := tmpl.Render(t.Context(), &Request{End: tt.end, Messages: append(messages, tt.more...)})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Tail(); got != tt.want {
			t.Errorf("end %d: got %q, want %q", tt.end, got, tt.want)
		}
	}
}

// TestRealTails has earlier thinking in the conversation: what follows it opens
// thinking, or does not, as in a first turn.
func TestRealTails(t *testing.T) {
	opens := 0
	for name, tmpl := range realTemplates(t) {
		found := tmpl.Format()
		first, err := tmpl.Render(t.Context(), &Request{Messages: []Message{{Role: RoleUser, Text: "Hi"}}})
		if err != nil {
			continue
		}
		later, err := tmpl.Render(t.Context(), &Request{Messages: []Message{
			{Role: RoleUser, Text: "Hi"}, {Role: RoleAssistant, Text: "Hello", Reasoning: "Hm"}, {Role: RoleUser, Text: "<think> " + found.Format.Think.Close}}})
		if err != nil {
			if name != "MiroThinker.jinja" { // it breaks in Hugging Face's renderer too
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if first.Tail() != later.Tail() {
			t.Errorf("%s: %q after one turn, %q after two", name, first.Tail(), later.Tail())
		}
		open := found.Format.OpensThinking(later.Tail())
		if open {
			opens++
		}
		if found.Opens != open {
			t.Errorf("%s: Opens = %v, but the prompt says %v", name, found.Opens, open)
		}
	}
	if opens < 7 {
		t.Errorf("%d templates open thinking", opens)
	}
}

// TestRealGeneric shows tools to every collected template that shows none by
// itself.
func TestRealGeneric(t *testing.T) {
	shown := 0
	for name, tmpl := range realTemplates(t) {
		if name == "MiroThinker.jinja" || name == "fireworks-ai-llama-3-firefunction-v2.jinja" {
			continue // these break in Hugging Face's renderer too
		}
		found := tmpl.Format()
		if found.Tools {
			continue
		}
		req := toolRequest()
		if !tmpl.showsSystem() {
			req.Messages = req.Messages[1:]
		}
		if found.Calls { // DeepSeek R1's drop calls beside words
			req.Messages[len(req.Messages)-2].Text = ""
		}
		req, _, err := tmpl.WithTools(found, req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := tmpl.Render(t.Context(), req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range []string{`"name":"get_weather"`, "rain", "Oslo", "Weather?"} {
			if !strings.Contains(p.Text, want) {
				t.Errorf("%s: the prompt has no %q: %s", name, want, p.Text)
			}
		}
		shown++
	}
	if shown < 8 {
		t.Errorf("only %d templates show no tools", shown)
	}
}
