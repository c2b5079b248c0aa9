package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quern/bench/fixtures"
)

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func fixedNow() time.Time { return time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC) }

var fixtureOptions = Options{BOS: "<s>", EOS: "</s>", Unknown: "<unk>", Now: fixedNow}

// realTemplates makes every collected template.
func realTemplates(t testing.TB) map[string]*Template {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtures.Path(t, "chat_templates"), "templates", "*.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]*Template)
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := New(string(src), fixtureOptions)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[filepath.Base(path)] = tmpl
	}
	return out
}

// A wireCase is a conversation as the fixtures spell it.
type wireCase struct {
	Generate bool  `json:"add_generation_prompt"`
	Think    *bool `json:"enable_thinking"`
	Tools    []json.RawMessage
	Messages []struct {
		Role, Name string
		Content    json.RawMessage
		Reasoning  string `json:"reasoning_content"`
		CallID     string `json:"tool_call_id"`
		Calls      []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
}

func (c *wireCase) request(t testing.TB) *Request {
	t.Helper()
	req := &Request{}
	if !c.Generate {
		req.End = EndHistory
	}
	if c.Think != nil {
		v, _ := json.Marshal(*c.Think)
		req.Kwargs = []Kwarg{{"enable_thinking", v}}
	}
	for _, raw := range c.Tools {
		req.Tools = append(req.Tools, Tool{Raw: raw})
	}
	for _, m := range c.Messages {
		msg := Message{Role: m.Role, Name: m.Name, Reasoning: m.Reasoning, ToolCallID: m.CallID}
		switch {
		case string(m.Content) == "null":
			msg.NoContent = true
		case m.Content[0] == '"':
			if err := json.Unmarshal(m.Content, &msg.Text); err != nil {
				t.Fatal(err)
			}
		default:
			if err := json.Unmarshal(m.Content, &msg.Parts); err != nil {
				t.Fatal(err)
			}
		}
		for _, call := range m.Calls {
			msg.ToolCalls = append(msg.ToolCalls, Call{call.ID, call.Function.Name, string(call.Function.Arguments)})
		}
		req.Messages = append(req.Messages, msg)
	}
	return req
}

func readCases(t testing.TB) map[string]*wireCase {
	var cases map[string]*wireCase
	readJSON(t, fixtures.Path(t, "chat_templates", "cases.json"), &cases)
	return cases
}

// differs says where this package prints something better.
func differs(template, id, want string) bool {
	switch {
	case id == "parts": // we join parts where the template would print the list itself, or nothing
		return strings.Contains(want, "'text'") || strings.Contains(want, `"text"`) || !strings.Contains(want, "Part one.")
	case id == "tool_result_null": // we send "" where the template would print "None"
		return strings.Contains(want, "None")
	case template == "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja": // it drops calls beside "", not beside None
		return id == "tool_result" || id == "parallel_calls"
	}
	return false
}

// TestRealTemplates compares with what Hugging Face's renderer printed. Where
// it printed something, so do we; where it broke, we may find a shape that
// works.
func TestRealTemplates(t *testing.T) {
	templates, cases := realTemplates(t), readCases(t)
	var goldens []struct {
		Template, Case string
		Output, Error  *string
	}
	readJSON(t, fixtures.Path(t, "chat_templates", "golden.json"), &goldens)
	equal, better, rescued, refused := 0, 0, 0, 0
	for _, g := range goldens {
		got, err := templates[g.Template].Render(t.Context(), cases[g.Case].request(t))
		switch {
		case g.Output == nil && err == nil:
			rescued++
		case g.Output == nil:
			refused++
			if words, ok := strings.CutPrefix(*g.Error, "TemplateError: "); ok && err.Error() != words {
				t.Errorf("%s, %s: got error %q, want %q", g.Template, g.Case, err, words)
			}
		case err == nil && got.Text != *g.Output && differs(g.Template, g.Case, *g.Output):
			better++
		case err != nil:
			t.Errorf("%s, %s: %v", g.Template, g.Case, err)
		case got.Text != *g.Output:
			a, b := got.Text, *g.Output
			for a != "" && b != "" && a[0] == b[0] {
				a, b = a[1:], b[1:]
			}
			t.Errorf("%s, %s: from the first difference on:\ngot  %q\nwant %q", g.Template, g.Case, a, b)
		default:
			equal++
		}
	}
	t.Logf("%d equal, %d better, %d rescued, %d refused, of %d", equal, better, rescued, refused, len(goldens))
}

var controlLike = regexp.MustCompile(`<\|[^|<>]{1,40}\|>|</?[a-z_:]{1,30}>|\[/?[A-Z_]{1,20}\]|<｜[^｜<>]{1,40}｜>|<\|[a-z_]+>|<[a-z_]+\|>`)

// TestRealTrust puts every control token a template mentions into every string
// a client can send. None may come out as one, and none of the template's own
// may be lost.
func TestRealTrust(t *testing.T) {
	dir := fixtures.Path(t, "chat_templates")
	templates, cases := realTemplates(t), readCases(t)
	for name, tmpl := range templates {
		src, err := os.ReadFile(filepath.Join(dir, "templates", name))
		if err != nil {
			t.Fatal(err)
		}
		spellings := append(controlLike.FindAllString(string(src), -1), "<s>", "</s>", "<unk>")
		// Roles are spelled into tokens by some templates.
		spellings = append(spellings, "<|user|>", "<|system|>", "<|assistant|>", "<|tool|>", "<|im_start|>", "<start_of_turn>")
		// Where an answer's thinking ends steers what some templates print
		// of their own.
		spellings = slices.DeleteFunc(spellings, func(s string) bool { return strings.Contains(s, "think>") })
		slices.Sort(spellings)
		spellings = slices.Compact(spellings)
		controls := NewControls(spellings)
		evil := strings.Join(spellings, "")
		mild := strings.Repeat("x", len(evil))
		for id, c := range cases {
			count := func(insert string) (int, string) {
				p, err := tmpl.Render(t.Context(), laced(c.request(t), insert))
				if err != nil {
					return -1, err.Error()
				}
				n := 0
				var all strings.Builder
				for _, s := range p.Segments(controls) {
					all.WriteString(s.Text)
					if s.Control {
						n++
					}
				}
				if all.String() != p.Text {
					t.Fatalf("%s, %s: segments do not make up the text", name, id)
				}
				return n, p.Text
			}
			want, _ := count(mild)
			got, text := count(evil)
			if got != want {
				t.Errorf("%s, %s: %d control tokens with hostile text, %d with harmless text\n%q", name, id, got, want, text)
			}
			// The rwkv template has no control tokens at all.
			if want == 0 && name != "llama-cpp-rwkv-world.jinja" {
				t.Errorf("%s, %s: no control tokens in %q", name, id, text)
			}
		}
	}
}

// laced puts text into every string of a request that a client is free to
// choose.
func laced(req *Request, text string) *Request {
	quoted, _ := json.Marshal(text)
	inner := strings.Trim(string(quoted), `"`)
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Text = text + m.Text + text
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			m.Parts[j].Text = text + m.Parts[j].Text + text
		}
		if m.Reasoning != "" {
			m.Reasoning = text + m.Reasoning + text
		}
		for j := range m.ToolCalls {
			m.ToolCalls[j].Name += text
			m.ToolCalls[j].Arguments = strings.Replace(m.ToolCalls[j].Arguments, `{`, `{"`+inner+`": "`+inner+`", `, 1)
		}
	}
	for i := range req.Tools {
		req.Tools[i].Raw = json.RawMessage(strings.Replace(string(req.Tools[i].Raw), `"description": "`, `"description": "`+inner, -1))
	}
	return req
}

// TestRealContinue continues an answer in every template that can hold one.
func TestRealContinue(t *testing.T) {
	for name, tmpl := range realTemplates(t) {
		for _, prefill := range []string{"The answer <b>is</b>", ""} {
			req := &Request{Messages: []Message{{Role: RoleUser, Text: "Q"}, {Role: RoleAssistant, Text: prefill}}, End: EndContinue}
			p, err := tmpl.Render(t.Context(), req)
			if err != nil {
				// These two broke in Hugging Face's renderer too.
				if name != "MiroThinker.jinja" && name != "fireworks-ai-llama-3-firefunction-v2.jinja" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if !strings.HasSuffix(p.Text, prefill) || strings.Contains(p.Text, "text") && prefill == "" && !strings.Contains(p.Text, "Q") {
				t.Errorf("%s: prompt does not end with %q: %q", name, prefill, p.Text)
			}
			req.Messages[1].Text, req.End = "zzz", EndHistory
			whole, err := tmpl.Render(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(whole.Text, "zzz")
			if p.Text != head+prefill {
				t.Errorf("%s: got %q, want %q", name, p.Text, head+prefill)
			}
		}
	}
}

// TestRealWants logs what was found out about each template.
func TestRealWants(t *testing.T) {
	for name, tmpl := range realTemplates(t) {
		w := tmpl.wants
		t.Logf("%-55s system %d user %d assistant %d tool %d, string args %v, beside %d, short ids %v", name,
			w.content[RoleSystem], w.content[RoleUser], w.content[RoleAssistant], w.content[RoleTool], w.stringArgs, w.beside, w.shortIDs)
		if short := strings.Contains(name, "Mistral-"); w.shortIDs != short {
			t.Errorf("%s: ShortCallIDs = %v", name, w.shortIDs)
		}
	}
}

// BenchmarkRender measures the template with the longest source.
func BenchmarkRender(b *testing.B) {
	dir := fixtures.Path(b, "chat_templates")
	src, err := os.ReadFile(filepath.Join(dir, "templates", "MiroThinker.jinja"))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse and probe", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			if _, err := New(string(src), fixtureOptions); err != nil {
				b.Fatal(err)
			}
		}
	})
	cases := readCases(b)
	for name, tmpl := range realTemplates(b) {
		if !slices.Contains([]string{"MiroThinker.jinja", "GigaChat3-10B-A1.8B.jinja", "google-gemma-4-31B-it-interleaved.jinja", "Qwen-Qwen3-0.6B.jinja"}, name) {
			continue
		}
		for _, id := range []string{"multi", "parallel_calls"} {
			req := cases[id].request(b)
			if _, err := tmpl.Render(b.Context(), req); err != nil {
				continue
			}
			b.Run(name+"/"+id, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := tmpl.Render(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
