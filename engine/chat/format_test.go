package chat

import (
	"strings"
	"testing"

	"quern/bench/fixtures"
)

// TestRealFormats finds the format of every collected template.
func TestRealFormats(t *testing.T) {
	var want map[string]struct {
		Format    string
		Reasoning *struct{ Start, End string }
		Peer      *struct{ Array bool }
	}
	readJSON(t, fixtures.Path(t, "toolcalls", "templates.json"), &want)
	templates := realTemplates(t)
	for name, w := range want {
		tmpl := templates[name]
		if tmpl == nil {
			t.Errorf("no template %s", name)
			continue
		}
		found := tmpl.Format()
		f := found.Format
		if f.Name != w.Format || found.Derived {
			t.Errorf("%s: got %s (derived %v), want %s", name, f.Name, found.Derived, w.Format)
		}
		if w.Reasoning != nil {
			open := ""
			if len(f.Think.Open) > 0 {
				open = f.Think.Open[0]
			}
			if w.Reasoning.Start != "" && open != w.Reasoning.Start || f.Think.Close != w.Reasoning.End {
				t.Errorf("%s: thinking between %q and %q, want %+v", name, open, f.Think.Close, *w.Reasoning)
			}
		}
		t.Logf("%-55s %-16s tools %v calls %v parallel %v thinks %v switch %v opens %v", strings.TrimSuffix(name, ".jinja"), f.Name,
			found.Tools, found.Calls, found.Parallel, found.Thinks, found.Switch, found.Opens)
	}
}

// TestStringsBesideNone has a template that shows calls only beside None, with
// arguments as a string, and keeps from breaking beside a string.
func TestStringsBesideNone(t *testing.T) {
	tmpl, err := New(`{%- for m in messages -%}
{%- if m.content is none -%}{%- for c in m.tool_calls -%}{{ '<call>' + c.function.name + c.function.arguments }}{%- endfor -%}
{%- else -%}{{ m.content }}{%- endif -%}{%- endfor -%}`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tmpl.Render(t.Context(), &Request{End: EndHistory, Messages: []Message{
		{Role: RoleUser, Text: "Hi"},
		{Role: RoleAssistant, ToolCalls: []Call{{ID: "1", Name: "f", Arguments: `{"a": 1}`}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `Hi<call>f{"a": 1}`; p.Text != want {
		t.Errorf("got %q, want %q", p.Text, want)
	}
}
