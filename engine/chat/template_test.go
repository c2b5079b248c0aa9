package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Templates in the manner of well-known models.
const (
	// Turns between two tokens; tools in the system turn; calls as JSON.
	imTemplate = `{{- bos_token if bos_token is defined }}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- 'Tools:' }}
    {%- for tool in tools %}
        {{- '\n' ~ tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for m in messages %}
    {%- if m.role == 'system' and not loop.first %}
        {{- raise_exception('System message must come first.') }}
    {%- elif m.role == 'user' or m.role == 'assistant' %}
        {{- '<|im_start|>' + m.role + '\n' }}
        {%- if m.reasoning_content and loop.last %}
            {{- '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}
        {%- endif %}
        {{- m.content | trim if m.content }}
        {%- for call in m.tool_calls or [] %}
            {{- '\n<tool_call>{"name": "' ~ call.function.name ~ '", "arguments": ' ~ call.function.arguments | tojson ~ '}</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif m.role == 'tool' %}
        {{- '<|im_start|>tool\n' + m.content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}`

	// Alternating turns and short ids.
	instTemplate = `{{- bos_token }}
{%- set ns = namespace(user=true) %}
{%- for m in messages %}
    {%- if m.role == 'system' and not loop.first %}{{ raise_exception('Only one system message, at the start.') }}{% endif %}
    {%- if m.role == 'user' or m.role == 'assistant' and not m.tool_calls %}
        {%- if (m.role == 'user') != ns.user %}{{ raise_exception('Roles must alternate.') }}{% endif %}
        {%- set ns.user = not ns.user %}
    {%- endif %}
    {%- if m.role == 'user' %}
        {{- '[INST] ' + m.content + '[/INST]' }}
    {%- elif m.role == 'system' %}
        {{- '[SYS]' + m.content + '[/SYS]' }}
    {%- elif m.tool_calls %}
        {{- '[TOOL_CALLS] ' }}
        {%- for call in m.tool_calls %}
            {%- if call.id is not defined or call.id | length != 9 %}{{ raise_exception('Tool call IDs have nine characters.') }}{% endif %}
            {{- {'name': call.function.name, 'arguments': call.function.arguments, 'id': call.id} | tojson }}
        {%- endfor %}
        {{- eos_token }}
    {%- elif m.role == 'assistant' %}
        {{- ' ' + m.content + eos_token }}
    {%- else %}
        {%- if m.tool_call_id | length != 9 %}{{ raise_exception('Tool call IDs have nine characters.') }}{% endif %}
        {{- '[TOOL_RESULTS] ' + m.tool_call_id + ' ' + m.content + '[/TOOL_RESULTS]' }}
    {%- endif %}
{%- endfor %}`

	// Parts only, and nothing else.
	partsTemplate = `{% for m in messages %}<|{{ m.role }}|>{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}|{% endif %}{% endfor %}
{% endfor %}`

	// Either, as it comes.
	eitherTemplate = `{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text | trim }};{% endfor %}{% endif %}{% endfor %}`

	// No system role; arguments as strings.
	plainTemplate = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system role: ' + m.content) }}{% endif %}<turn>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}{{ 'CALL ' + c.function.name + c.function.arguments }}{% endfor %}</turn>
{% endfor %}`
)

func newTemplate(t testing.TB, source string, opt Options) *Template {
	t.Helper()
	tmpl, err := New(source, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

var (
	system    = func(s string) Message { return Message{Role: RoleSystem, Text: s} }
	user      = func(s string) Message { return Message{Role: RoleUser, Text: s} }
	assistant = func(s string) Message { return Message{Role: RoleAssistant, Text: s} }
	weather   = Tool{Raw: json.RawMessage(`{"type": "function", "function": {"name": "weather", "parameters": {"z": 1, "a": [1.0, 2]}}}`)}
)

func called(id, args string) Message {
	return Message{Role: RoleAssistant, NoContent: true, ToolCalls: []Call{{ID: id, Name: "weather", Arguments: args}}}
}

func result(id, text string) Message {
	return Message{Role: RoleTool, ToolCallID: id, Text: text}
}

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		req          Request
		want         string
	}{
		{"plain", imTemplate, Request{Messages: []Message{user(" Hi ")}},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
		{"history", imTemplate, Request{Messages: []Message{system("Be terse."), user("Hi"), assistant("Yo")}, End: EndHistory},
			"<s><|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"},
		{"kwarg", imTemplate, Request{Messages: []Message{user("Hi")}, Kwargs: []Kwarg{{"enable_thinking", json.RawMessage("true")}, {"enable_thinking", json.RawMessage("false")}}},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		{"tools keep their order", imTemplate, Request{Messages: []Message{user("Hi")}, Tools: []Tool{weather}, End: EndHistory},
			"<s><|im_start|>system\nTools:\n" + `{"type": "function", "function": {"name": "weather", "parameters": {"z": 1, "a": [1.0, 2]}}}` + "<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"},
		{"arguments become an object", imTemplate, Request{Messages: []Message{user("Hi"), called("1", `{"city":"Oslo","n":1}`), result("1", "ok")}, End: EndHistory},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n\n" + `<tool_call>{"name": "weather", "arguments": {"city": "Oslo", "n": 1}}</tool_call>` + "<|im_end|>\n<|im_start|>tool\nok<|im_end|>\n"},
		{"arguments that do not parse", imTemplate, Request{Messages: []Message{user("Hi"), called("1", `{"city":`)}, End: EndHistory},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n\n" + `<tool_call>{"name": "weather", "arguments": "{\"city\":"}</tool_call>` + "<|im_end|>\n"},
		{"no arguments", imTemplate, Request{Messages: []Message{user("Hi"), called("1", "")}, End: EndHistory},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n\n" + `<tool_call>{"name": "weather", "arguments": {}}</tool_call>` + "<|im_end|>\n"},
		{"no arguments as strings", plainTemplate, Request{Messages: []Message{user("Hi"), called("1", " ")}},
			"<turn>user\nHi</turn>\n<turn>assistant\n" + `CALL weather{}` + "</turn>\n"},
		{"arguments as strings", plainTemplate, Request{Messages: []Message{user("Hi"), called("1", `{"a":1}`)}},
			"<turn>user\nHi</turn>\n<turn>assistant\n" + `CALL weather{"a":1}` + "</turn>\n"},
		{"parts joined", imTemplate, Request{Messages: []Message{{Role: RoleUser, Parts: []Part{{"a"}, {" b"}}}}, End: EndHistory},
			"<s><|im_start|>user\na b<|im_end|>\n"},
		{"string as parts", partsTemplate, Request{Messages: []Message{system("s"), user("u")}}, "<|system|>s|<|user|>u|"},
		{"parts as parts", partsTemplate, Request{Messages: []Message{{Role: RoleUser, Parts: []Part{{"a"}, {" b"}}}}}, "<|user|>a| b|"},
		{"either, string", eitherTemplate, Request{Messages: []Message{user(" a ")}}, "<user> a "},
		{"either, parts", eitherTemplate, Request{Messages: []Message{{Role: RoleUser, Parts: []Part{{" a "}, {"b"}}}}}, "<user>a;b;"},
		{"late system message", imTemplate, Request{Messages: []Message{user("Hi"), system("one"), assistant("Yo"), system("two")}, End: EndHistory},
			"<s><|im_start|>system\none\n\ntwo<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"},
		{"two users", instTemplate, Request{Messages: []Message{user("a"), user("b"), assistant("c")}},
			"<s>[INST] a\n\nb[/INST] c</s>"},
		{"both", instTemplate, Request{Messages: []Message{user("a"), system("s"), user("b")}},
			"<s>[SYS]s[/SYS][INST] a\n\nb[/INST]"},
		{"short ids stay", instTemplate, Request{Messages: []Message{user("a"), called("AbCdEf123", `{}`), result("AbCdEf123", "r")}},
			`<s>[INST] a[/INST][TOOL_CALLS] {"name": "weather", "arguments": {}, "id": "AbCdEf123"}</s>[TOOL_RESULTS] AbCdEf123 r[/TOOL_RESULTS]`},
		{"long ids shrink alike", instTemplate, Request{Messages: []Message{user("a"), called("call_0123456789", `{}`), result("call_0123456789", "r")}},
			`<s>[INST] a[/INST][TOOL_CALLS] {"name": "weather", "arguments": {}, "id": "lKYFA98ig"}</s>[TOOL_RESULTS] lKYFA98ig r[/TOOL_RESULTS]`},
		{"continue", imTemplate, Request{Messages: []Message{user("Hi"), assistant("Once upon")}, End: EndContinue},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nOnce upon"},
		{"continue, trimmed", imTemplate, Request{Messages: []Message{user("Hi"), assistant(" Once upon \n")}, End: EndContinue},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nOnce upon"},
		{"continue a text seen before", imTemplate, Request{Messages: []Message{user("same"), assistant("same")}, End: EndContinue},
			"<s><|im_start|>user\nsame<|im_end|>\n<|im_start|>assistant\nsame"},
		{"continue nothing", imTemplate, Request{Messages: []Message{user("Hi"), assistant("")}, End: EndContinue},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
		{"continue parts", partsTemplate, Request{Messages: []Message{user("Hi"), {Role: RoleAssistant, Parts: []Part{{"a"}, {"b"}}}}, End: EndContinue},
			"<|user|>Hi|<|assistant|>ab"},
		{"continue after thinking", imTemplate, Request{Messages: []Message{user("Hi"), {Role: RoleAssistant, Text: "So", Reasoning: "Hm."}}, End: EndContinue},
			"<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\nHm.\n</think>\n\nSo"},
		{"by its name", "rwkv-world\n", Request{Messages: []Message{system("Be kind. "), user(" Hi\n"), assistant("Hello!"), user("Who?")}},
			"<s>System: Be kind.\n\nUser: Hi\n\nAssistant: Hello!\n\nUser: Who?\n\nAssistant:"},
		{"continue a merged turn", instTemplate, Request{Messages: []Message{user("Hi"), assistant("a"), assistant("b")}, End: EndContinue},
			"<s>[INST] Hi[/INST] a\n\nb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl := newTemplate(t, tt.source, Options{BOS: "<s>", EOS: "</s>"})
			p, err := tmpl.Render(t.Context(), &tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if p.Text != tt.want {
				t.Errorf("got  %q\nwant %q", p.Text, tt.want)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		req          Request
		want         string // of a TemplateError; "" for ErrRequest
		raised       bool
	}{
		{"refused", plainTemplate, Request{Messages: []Message{system("x"), user("y")}}, "No system role: x", true},
		{"refused twice, first words", plainTemplate, Request{Messages: []Message{user("y"), system("x"), system("z")}}, "No system role: x", true},
		{"broke", "{% for m in messages %}{{ m.nope.nope }}{% endfor %}", Request{Messages: []Message{user("x")}}, "template line 1: 'dict object' has no attribute 'nope'", false},
		{"broke on arguments", "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | items | list }}{% endfor %}{% endfor %}", Request{Messages: []Message{user("x"), called("1", "{}"), called("2", `{"a":`)}},
			`template line 1: Can only get item pairs from a mapping.; the arguments of the call of "weather" are no JSON object: send one`, false},
		{"limit", "{{ 'x' * 10**12 }}", Request{Messages: []Message{user("x")}}, "the template makes too much text", false},
		{"continued message not printed", "{{ messages[0].content }}", Request{Messages: []Message{user("x"), assistant("y")}, End: EndContinue}, "the template does not print the message to be continued", false},
		{"no messages", imTemplate, Request{}, "", false},
		{"role", imTemplate, Request{Messages: []Message{{Role: "root"}}}, "", false},
		{"continue a user", imTemplate, Request{Messages: []Message{user("x")}, End: EndContinue}, "", false},
		{"continue a call", imTemplate, Request{Messages: []Message{called("1", "{}")}, End: EndContinue}, "", false},
		{"tool JSON", imTemplate, Request{Messages: []Message{user("x")}, Tools: []Tool{{Raw: json.RawMessage("{")}}}, "", false},
		{"kwarg JSON", imTemplate, Request{Messages: []Message{user("x")}, Kwargs: []Kwarg{{"a", json.RawMessage("nope")}}}, "", false},
		{"kwarg depth", imTemplate, Request{Messages: []Message{user("x")}, Kwargs: []Kwarg{{"a", json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))}}}, "", false},
		{"reserved kwarg", imTemplate, Request{Messages: []Message{user("x")}, Kwargs: []Kwarg{{"bos_token", json.RawMessage(`""`)}}}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newTemplate(t, tt.source, Options{}).Render(t.Context(), &tt.req)
			var te *TemplateError
			switch {
			case tt.want == "":
				if !errors.Is(err, ErrRequest) {
					t.Errorf("got %v, want ErrRequest", err)
				}
			case !errors.As(err, &te):
				t.Errorf("got %v, want a TemplateError", err)
			case te.Message != tt.want || te.Raised != tt.raised:
				t.Errorf("got %q, raised %v; want %q, %v", te.Message, te.Raised, tt.want, tt.raised)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, tt := range []struct {
		source string
		want   error
	}{
		{"", ErrNoTemplate},
		{" \n", ErrNoTemplate},
		{"{% if %}", ErrFormat},
		{"{{ x|nope }}", ErrFormat},
		{strings.Repeat("x", 2<<20), ErrFormat},
		{"{% include 'x' %}", ErrUnsupported},
	} {
		if _, err := New(tt.source, Options{}); !errors.Is(err, tt.want) {
			t.Errorf("New(%.20q) = %v, want %v", tt.source, err, tt.want)
		}
	}
}

func TestWants(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		shortIDs     bool
	}{
		{"im", imTemplate, false},
		{"inst", instTemplate, true},
		{"parts", partsTemplate, false},
		{"plain", plainTemplate, false},
		{"broken", "{{ a.b.c }}", false},
	} {
		if got := newTemplate(t, tt.source, Options{}).ShortCallIDs(); got != tt.shortIDs {
			t.Errorf("%s: ShortCallIDs %v, want %v", tt.name, got, tt.shortIDs)
		}
	}
}

// TestNone checks a template that breaks on None where there are no tools.
func TestNone(t *testing.T) {
	tmpl := newTemplate(t, "{% for t in tools %}{{ t.function.name }} {% endfor %}{% for d in documents %}{{ d }} {% endfor %}{{ messages[0].content }}", Options{})
	for _, tt := range []struct {
		req  Request
		want string
	}{
		{Request{Messages: []Message{user("x")}}, "x"},
		{Request{Messages: []Message{user("x")}, Tools: []Tool{weather}, Kwargs: []Kwarg{{"documents", json.RawMessage(`["d1", "d2"]`)}}}, "weather d1 d2 x"},
	} {
		if p, err := tmpl.Render(t.Context(), &tt.req); err != nil || p.Text != tt.want {
			t.Errorf("got %v, %v; want %q", p, err, tt.want)
		}
	}
}

func TestRepairLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	tmpl := newTemplate(t, imTemplate, Options{Model: "m1", Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if _, err := tmpl.Render(t.Context(), &Request{Messages: []Message{user("secret words"), system("late")}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "model=m1") || strings.Contains(log.String(), "secret") {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestRenderKeepsRequest(t *testing.T) {
	req := Request{Messages: []Message{user("a"), {Role: RoleUser, Parts: []Part{{"b"}}}, system("c"), called("call_long_id_1", "{}")}}
	before, _ := json.Marshal(req.Messages)
	if _, err := newTemplate(t, instTemplate, Options{BOS: "<s>", EOS: "</s>"}).Render(t.Context(), &req); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(req.Messages); !bytes.Equal(before, after) {
		t.Errorf("messages changed from %s to %s", before, after)
	}
}

// TestSegments checks that exactly the template's control tokens count.
func TestSegments(t *testing.T) {
	controls := NewControls([]string{"<s>", "<|im_start|>", "<|im_end|>", "<|im_end|>\n", "<think>", "<|user|>", "", "<tool_call>", "[INST]"})
	const c = true
	for _, tt := range []struct {
		name, source string
		req          Request
		want         []Segment
	}{
		{"chat", imTemplate, Request{Messages: []Message{user("a<|im_end|>b<s>"), assistant("<|im_start|>")}},
			[]Segment{{"<s>", c}, {"<|im_start|>", c}, {"user\na<|im_end|>b<s>", false}, {"<|im_end|>\n", c}, {"<|im_start|>", c}, {"assistant\n<|im_start|>", false}, {"<|im_end|>\n", c}, {"<|im_start|>", c}, {"assistant\n", false}}},
		{"longest must be trusted", "<|im_end|>{{ messages[0].content }}", Request{Messages: []Message{user("\n<|im_end|>")}},
			[]Segment{{"<|im_end|>", c}, {"\n<|im_end|>", false}}},
		{"pieced together", "<|im_{{ messages[0].content }}|><|{{ messages[0].role }}|>", Request{Messages: []Message{user("start")}},
			[]Segment{{"<|im_start|>", false}, {"<|user|>", c}}},
		{"case", "{{ messages[0].content | lower }}", Request{Messages: []Message{user("<|IM_START|>")}},
			[]Segment{{"<|im_start|>", false}}},
		{"replace", "{{ messages[0].content | replace('#', '|') }}", Request{Messages: []Message{user("<#im_start#>")}},
			[]Segment{{"<|im_start|>", false}}},
		{"join", "{{ messages[0].content | list | join }}", Request{Messages: []Message{user("<|im_start|>")}},
			[]Segment{{"<|im_start|>", false}}},
		{"kwarg", "{{ x }}{{ x | tojson }}<s>", Request{Messages: []Message{user("")}, Kwargs: []Kwarg{{"x", json.RawMessage(`"<s>"`)}}},
			[]Segment{{`<s>"<s>"`, false}, {"<s>", c}}},
		{"tool", "{% for t in tools or [] %}{{ t }}{{ t | tojson }}{% for k in t %}{{ k }}{% endfor %}{% endfor %}", Request{Messages: []Message{user("")}, Tools: []Tool{{Raw: json.RawMessage(`{"<s>": "<think>"}`)}}},
			[]Segment{{`{'<s>': '<think>'}{"<s>": "<think>"}<s>`, false}}},
		{"call", imTemplate, Request{Messages: []Message{called("1", `{"<s>": 1}`)}, End: EndHistory},
			[]Segment{{"<s>", c}, {"<|im_start|>", c}, {"assistant\n\n", false}, {"<tool_call>", c}, {`{"name": "weather", "arguments": {"<s>": 1}}</tool_call>`, false}, {"<|im_end|>\n", c}}},
		{"nothing", "", Request{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Prompt{}
			if tt.source != "" {
				var err error
				if p, err = newTemplate(t, tt.source, Options{BOS: "<s>"}).Render(t.Context(), &tt.req); err != nil {
					t.Fatal(err)
				}
			}
			if got := p.Segments(controls); !slices.Equal(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestStartsWith(t *testing.T) {
	for _, tt := range []struct {
		source string
		want   bool
	}{
		{"{{ bos_token }}x", true},
		{"<s>x", true},
		{"{{ messages[0].content }}", false},
		{" <s>", false},
		{"", false},
	} {
		p := &Prompt{}
		if tt.source != "" {
			var err error
			if p, err = newTemplate(t, tt.source, Options{BOS: "<s>"}).Render(t.Context(), &Request{Messages: []Message{user("<s>")}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.StartsWith("<s>"); got != tt.want || p.StartsWith("") {
			t.Errorf("%q: StartsWith = %v, want %v", p.Text, got, tt.want)
		}
	}
}

func TestTrusted(t *testing.T) {
	p, err := newTemplate(t, "ab{{ messages[0].content }}cd", Options{}).Render(t.Context(), &Request{Messages: []Message{user("XY")}})
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from <= len(p.Text); from++ {
		for to := from + 1; to <= len(p.Text); to++ {
			want := to <= 2 || from >= 4
			if got := p.Trusted(from, to); got != want {
				t.Errorf("Trusted(%d, %d) = %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	tmpl := newTemplate(t, instTemplate, Options{BOS: "<s>", EOS: "</s>", Log: slog.New(slog.DiscardHandler)})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 30 {
				p, err := tmpl.Render(t.Context(), &Request{Messages: []Message{user("a"), system("s"), user("b")}})
				if err != nil || p.Text != "<s>[SYS]s[/SYS][INST] a\n\nb[/INST]" {
					t.Errorf("got %v, %v", p, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// FuzzRender sends any text through every template in every place a client can
// put it: it must come out untrusted, or not at all.
func FuzzRender(f *testing.F) {
	const secret = "\ue000" // nothing but the client's text brings this in
	var templates []*Template
	for _, source := range []string{imTemplate, instTemplate, partsTemplate, eitherTemplate, plainTemplate} {
		templates = append(templates, newTemplate(f, source, Options{BOS: "<s>", EOS: "</s>"}))
	}
	controls := NewControls([]string{secret, "<s>", "</s>", "<|im_start|>", "[INST]"})
	for _, s := range []string{"", "x", "<s>", " \n", "<|im_start|>system\n", "{{ 1 }}", "\xff", `"}`, "[INST]"} {
		f.Add(s, `{"a": 1}`, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text, args string, n uint8) {
		text = secret + text + secret
		quoted, _ := json.Marshal(text)
		req := &Request{
			Messages: []Message{
				system(text), user(text),
				{Role: RoleAssistant, Text: text, Reasoning: text, Name: text, ToolCalls: []Call{{ID: text, Name: text, Arguments: args}}},
				{Role: RoleTool, Parts: []Part{{text}, {text}}, ToolCallID: text},
				user(text), assistant(text),
			},
			Tools:  []Tool{{Raw: quoted}},
			Kwargs: []Kwarg{{"documents", quoted}},
			End:    End(n % 3),
		}
		req.Messages = slices.Delete(req.Messages, 0, int(n/3)%len(req.Messages))
		for _, tmpl := range templates {
			p, err := tmpl.Render(t.Context(), req)
			if err != nil {
				var te *TemplateError
				if !errors.As(err, &te) && !errors.Is(err, ErrRequest) {
					t.Fatalf("%v is of no known kind", err)
				}
				continue
			}
			var all strings.Builder
			for _, s := range p.Segments(controls) {
				if s.Control && s.Text == secret {
					t.Fatalf("client text is trusted in %q", p.Text)
				}
				all.WriteString(s.Text)
			}
			if all.String() != p.Text {
				t.Fatalf("segments %q do not make up %q", all.String(), p.Text)
			}
		}
	})
}
