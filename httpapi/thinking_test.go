package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/local"
	"quern/engine/wire"
	"quern/httpapi"
)

// thinkingTemplate opens thinking unless that is switched off, shows tools, and calls as
// Hermes does.
const thinkingTemplate = `{% if tools %}<|im_start|>system
{% for t in tools %}{{ t | tojson }}
{% endfor %}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content.split('</think>')[-1] }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% if enable_thinking is defined and not enable_thinking %}
</think>

{% endif %}{% endif %}`

// newThinking serves the built-in model with the template of one that thinks.
func newThinking(t *testing.T, o httpapi.Options, m engine.ModelOptions) *httptest.Server {
	t.Helper()
	m.ChatTemplate = thinkingTemplate
	e, err := local.New(engine.Options{Device: "cpu", Threads: 1, Defaulted: m})
	if err != nil {
		t.Fatal(err)
	}
	o.Engine = e
	s := newServer(t, o)
	t.Cleanup(func() {
		s.Close()
		e.Close()
	})
	return s
}

// thinks asks a chat, plain and streamed, which must be the same.
func thinks(t *testing.T, s *httptest.Server, more string) *answer {
	t.Helper()
	body := `{"messages":[{"role":"user","content":"Where is Paris?"}],"seed":7,` + more + `}`
	whole, pieces := wholeAnswer(t, s, body), piecesOf(t, s, body)
	for _, a := range []*answer{whole, pieces} {
		for i := range a.Calls {
			a.Calls[i].ID = ""
		}
	}
	if whole.String() != pieces.String() {
		t.Errorf("%s:\nwhole    %s\nstreamed %s", more, whole, pieces)
	}
	return whole
}

// TestFormBehindThinking: a form begins where thinking ends, which a budget brings about, and
// beside tools a reply is a call or of the form.
func TestFormBehindThinking(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{})
	const tools = `"tools":[{"type":"function","function":{"name":"ping","parameters":{"type":"object","properties":{},"additionalProperties":false}}}],"parallel_tool_calls":false`
	for form, want := range forms {
		for i, beside := range []string{"", `,` + tools, `,` + tools + `,"tool_choice":"none"`, `,` + tools + `,"tool_choice":"required"`} {
			if i > 1 && !strings.Contains(form, "choice") {
				continue // what differs is not the form
			}
			a := thinks(t, s, fmt.Sprintf(`"max_tokens":200,"reasoning_budget":9,"temperature":%d,%s%s`, i%2, form, beside))
			if a.Reasoning == "" || a.reasoning > 9 || strings.Contains(a.Reasoning, "</think>") {
				t.Errorf("%s%s: %d tokens of thinking: %q", form, beside, a.reasoning, a.Reasoning)
			}
			required, free := strings.Contains(beside, "required"), strings.HasSuffix(beside, "false")
			switch {
			case len(a.Calls) > 0:
				if args := strings.TrimSpace(a.Calls[0].Function.Arguments); !required && !free || a.Content != nil || len(a.Calls) > 1 || a.Calls[0].Function.Name != "ping" || !json.Valid([]byte(args)) || a.finish != "tool_calls" {
					t.Errorf("%s%s: %s", form, beside, a)
				}
			case required || a.Content == nil || !regexp.MustCompile(want).MatchString(*a.Content) || a.finish != "stop":
				t.Errorf("%s%s: %s, want %s", form, beside, a, want)
			}
		}
	}
}

// TestNoThinking: who switches thinking off gets the form at once.
func TestNoThinking(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{})
	for _, off := range []string{`"enable_thinking":false`, `"reasoning_effort":"none"`, `"thinking":{"type":"disabled"}`, `"chat_template_kwargs":{"enable_thinking":false}`, `"reasoning_budget":0`,
		`"reasoning":{"enabled":false}`, `"reasoning":{"effort":"none"}`} {
		a := thinks(t, s, off+`,"guided_regex":" [0-9]{3} "`)
		if a.Reasoning != "" || a.reasoning != 0 || a.Content == nil || !regexp.MustCompile(`^ [0-9]{3} $`).MatchString(*a.Content) {
			t.Errorf("%s: %s", off, a)
		}
	}
}

// TestBudget: thinking has at most as many tokens as it may, its end counts as the reply's,
// and the answer goes on for as long as max_tokens says.
func TestBudget(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{})
	free := thinks(t, s, `"max_tokens":40,"temperature":0`)
	if free.reasoning < 10 || free.Content == nil || *free.Content != "" {
		t.Fatalf("without a budget: %s", free)
	}
	for _, n := range []int{1, 2, 5, 9} {
		a := thinks(t, s, fmt.Sprintf(`"max_tokens":40,"min_tokens":39,"temperature":0,"thinking_token_budget":%d`, n))
		if a.reasoning != n || a.Content == nil || *a.Content == "" || !strings.HasPrefix(free.Reasoning, a.Reasoning) {
			t.Errorf("%d tokens: %s", n, a)
		}
	}
	// One that is not used up changes nothing.
	for _, temperature := range []string{"0", "1"} {
		want := thinks(t, s, `"max_tokens":30,"temperature":`+temperature)
		if got := thinks(t, s, `"max_tokens":30,"reasoning_budget":100,"temperature":`+temperature); got.String() != want.String() {
			t.Errorf("a budget that is not used up: %s, want %s", got, want)
		}
	}
	// Each of n replies has its own.
	status, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],"n":3,"seed":1,"max_tokens":30,"reasoning_budget":4,"guided_choice":["so"],"logprobs":true}`)
	if n := strings.Count(string(body), `"content":"so","reasoning_content":`); status != http.StatusOK || n != 3 {
		t.Errorf("%d %s: %d of 3 replies", status, body, n)
	}
}

// TestEfforts: an effort has the budget that is configured, where a request names none.
func TestEfforts(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f, ReasoningBudgets: map[string]int{"low": 10, "minimal": 0}})
	for fields, want := range map[string]int{`"reasoning_effort":"low"`: 10, `"reasoning_effort":"low","reasoning_budget":7`: 7, `"reasoning_effort":"minimal"`: 0, `"reasoning_effort":"high"`: -1, `"stream":false`: -1,
		`"reasoning":{"effort":"low"}`: 10, `"reasoning":{"max_tokens":7,"enabled":true}`: 7, `"reasoning":{"effort":null}`: -1, `"reasoning":null`: -1} {
		if status, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],`+fields+`}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		r := f.last.Load()
		got := -1
		if r.ReasoningBudget != nil {
			got = r.ReasoningBudget.Tokens
		}
		if off := string(r.Prompt.Kwargs["enable_thinking"]) == "false"; got != want || off != (want == 0) {
			t.Errorf("%s: %d tokens (%s), want %d", fields, got, r.Prompt.Kwargs, want)
		}
	}
	// What the request did not ask for is left out where it cannot be kept to.
	s = newThinking(t, httpapi.Options{ReasoningBudgets: map[string]int{"low": 10}}, engine.ModelOptions{ToolFormat: "none"})
	if status, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],"max_tokens":3,"reasoning_effort":"low"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	for _, bad := range []map[string]int{{"none": 1}, {"low": -1}, {"little": 1}} {
		if _, err := httpapi.New(httpapi.Options{Engine: f, ReasoningBudgets: bad}); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestBudgetRefused: where thinking is not told from the answer it cannot be bounded; a model
// that does not think keeps to any bound.
func TestBudgetRefused(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{ToolFormat: "none"})
	status, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],"thinking":{"type":"enabled","budget_tokens":7}}`)
	if status != http.StatusBadRequest || !strings.Contains(string(body), `"param":"thinking.budget_tokens"`) || !strings.Contains(string(body), "unsupported_parameter") {
		t.Errorf("%d %s", status, body)
	}
	if status, body = asked(t, newBuiltin(t), `{"messages":[{"role":"user","content":"x"}],"max_tokens":3,"reasoning_budget":7}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

// TestReasoningField: thinking is shown where the setting says, alike in plain answers and in
// streams, and never twice.
func TestReasoningField(t *testing.T) {
	f, _ := wire.Find("hermes-json")
	const call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>"
	for _, tt := range []struct {
		field           httpapi.ReasoningField
		asks            string // of the request, which wins
		content, plain  string // members of the message, "" where there is none
		inline, nowhere string // the content with and without an answer
	}{
		{"", "", "hm", "", "so", ""},
		{"reasoning_content", "", "hm", "", "so", ""},
		{"reasoning", "", "", "hm", "so", ""},
		{"both", "", "hm", "hm", "so", ""},
		{"inline", "", "", "", "<think>\nhm\n</think>\n\nso", "<think>\nhm\n</think>\n\n"},
		{"both", `,"reasoning_format":"auto","include_reasoning":true`, "hm", "hm", "so", ""},
		{"both", `,"reasoning_format":"deepseek"`, "hm", "", "so", ""},
		{"both", `,"reasoning_format":"none"`, "", "", "<think>\nhm\n</think>\n\nso", "<think>\nhm\n</think>\n\n"},
		{"both", `,"include_reasoning":false`, "", "", "so", ""},
		{"inline", `,"include_reasoning":false`, "", "", "so", ""},
		{"both", `,"reasoning":{"exclude":true}`, "", "", "so", ""},
		{"both", `,"reasoning":{"exclude":false,"effort":"high"}`, "hm", "hm", "so", ""},
	} {
		for _, text := range []string{"<think>hm</think>so", "<think>hm</think>" + call, "<think>hm"} {
			s := newServer(t, httpapi.Options{Engine: speaking(f, "", text, 0), ReasoningField: tt.field})
			_, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],`+weatherTools+tt.asks+`}`)
			type message struct {
				Content   *string `json:"content"`
				ReasonedC string  `json:"reasoning_content"`
				Reasoned  string  `json:"reasoning"`
			}
			var whole struct {
				Choices []struct{ Message message }
			}
			if err := json.Unmarshal(body, &whole); err != nil || len(whole.Choices) != 1 {
				t.Fatalf("%s: %v", body, err)
			}
			want := tt.inline
			switch {
			case strings.HasSuffix(text, call):
				want = tt.nowhere
			case strings.HasSuffix(text, "hm"):
				want, _, _ = strings.Cut(tt.nowhere, "\n</think>")
			}
			m := whole.Choices[0].Message
			got := ""
			if m.Content != nil {
				got = *m.Content
			}
			if got != want || m.ReasonedC != tt.content || m.Reasoned != tt.plain {
				t.Errorf("%s%s of %q: %s", tt.field, tt.asks, text, body)
			}
			_, body = asked(t, s, `{"messages":[{"role":"user","content":"x"}],"stream":true,`+weatherTools+tt.asks+`}`)
			var pieces message
			content := ""
			for line := range strings.Lines(string(body)) {
				var chunk struct {
					Choices []struct{ Delta message }
				}
				data, ok := strings.CutPrefix(line, "data: {")
				if !ok {
					continue
				}
				if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				for _, c := range chunk.Choices {
					if pieces.ReasonedC, pieces.Reasoned = pieces.ReasonedC+c.Delta.ReasonedC, pieces.Reasoned+c.Delta.Reasoned; c.Delta.Content != nil {
						content += *c.Delta.Content
					}
				}
			}
			if content != want || pieces.ReasonedC != tt.content || pieces.Reasoned != tt.plain {
				t.Errorf("%s%s of %q, streamed: %s", tt.field, tt.asks, text, body)
			}
		}
	}
	if _, err := httpapi.New(httpapi.Options{Engine: &fake{}, ReasoningField: "none"}); err == nil || !strings.Contains(err.Error(), "inline") {
		t.Errorf("an unknown field: %v", err)
	}
}
