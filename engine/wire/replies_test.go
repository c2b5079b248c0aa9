package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestReplies reads what the fixtures have no case of.
func TestReplies(t *testing.T) {
	tools := []Tool{
		{"special_function", json.RawMessage(`{"properties":{"arg1":{"type":"integer"}}}`)},
		{"other", json.RawMessage(`{"properties":{"text":{"type":"string"},"list":{"type":"array"}}}`)},
	}
	type want struct {
		reasoning, content string
		calls              []string // name, arguments, name, …
	}
	one := []string{"special_function", `{"arg1": 1}`}
	for _, tt := range []struct {
		name, format, prompt, text string
		want
	}{
		{"all", "functionary-v3.2", ">>>", "all\nHello, world!\nWhat's up?", want{content: "Hello, world!\nWhat's up?"}},
		{"a call", "functionary-v3.2", ">>>", "special_function\n{\"arg1\": 1}\n", want{calls: one}},
		{"words and a call", "functionary-v3.2", ">>>", "all\nHello\n>>>special_function\n{\"arg1\": 1}\n", want{content: "Hello", calls: one}},
		{"two calls", "functionary-v3.2", ">>>", "special_function\n{\"arg1\": 1}\n>>>other\n{}", want{calls: append(one, "other", "{}")}},
		{"python", "functionary-v3.2", "", ">>>all\na >>> b", want{content: "a >>> b"}},

		{"two, a semicolon", "llama3-json", "", `{"name": "special_function", "parameters": {"arg1": 1}}; {"name": "other", "parameters": {}}`, want{calls: append(one, "other", "{}")}},
		{"words behind", "llama3-json", "", `{"name": "special_function", "parameters": {"arg1": 1}} ok {"name": "other", "parameters": {}}`, want{content: ` ok {"name": "other", "parameters": {}}`, calls: one}},
		{"no tool", "llama3-json", "", `{"name": "Bob", "parameters": {"arg1": 1}}`, want{content: `{"name": "Bob", "parameters": {"arg1": 1}}`}},
		{"an answer in JSON", "llama3-json", "", `{"name": "special_function", "age": 3}`, want{content: `{"name": "special_function", "age": 3}`}},
		{"as OpenAI has it", "llama3-json", "", `{"type": "function", "function": {"name": "special_function", "parameters": {"arg1": 1}}}`, want{calls: one}},
		{"arguments as a string", "mistral-array", "", `[TOOL_CALLS][{"name": "special_function", "arguments": "{\"arg1\": 1}"}]`, want{calls: one}},
		{"arguments first", "hermes-json", "", `<tool_call>{"arguments": {"arg1": 1}, "name": "special_function"}</tool_call>`, want{calls: one}},
		{"a tag in words", "hermes-json", "", "Write <tool_call> and so on.", want{content: "Write <tool_call> and so on."}},
		{"an object in a tagged format", "qwen3-coder-xml", "", "<tool_call>\n{\"name\": \"special_function\", \"arguments\": {\"arg1\": 1}}\n</tool_call>", want{content: "<tool_call>\n{\"name\": \"special_function\", \"arguments\": {\"arg1\": 1}}\n</tool_call>"}},

		{"no action", "cohere-action", "", "a<|START_ACTION|><|END_ACTION|>", want{content: "a"}},
		{"no list", "cohere-action", "", "a<|START_ACTION|>none<|END_ACTION|>", want{content: "a"}},
		{"no calls", "kimi-k2", "", "a<|tool_calls_section_begin|>none<|tool_calls_section_end|>", want{content: "a"}},
		{"no object", "mistral-array", "", "[TOOL_CALLS] none", want{content: " none"}},
		{"an empty list", "tool-calls-array", "", "<tool_calls>[]</tool_calls>", want{}},

		{"words without quotes", "gemma4", "", "<|tool_call>call:other{text:two words,list:[1,-2.5,x,2024-01-02,true]}<tool_call|>", want{calls: []string{"other", `{"text":"two words","list":[1,-2.5,"x","2024-01-02",true]}`}}},
		{"quoted keys", "gemma4", "", `<|tool_call>call:other{<|"|>text<|"|>:<|"|><|"<|"|>}<tool_call|>`, want{calls: []string{"other", `{"text":"<|\""}`}}},
		{"strings of Python", "lfm2-pythonic", "", `<|tool_call_start|>[other(text='''a "b" 'c' \x41\u00e9\q''', list=[("x"]), other(text='', list=["", '"', True, {'a': None}])]<|tool_call_end|>`, want{calls: []string{"other", `{"text":"","list":["","\"",true,{"a":null}]}`}}},
		{"three quotes", "lfm2-pythonic", "", `<|tool_call_start|>[other(text='''a "b" 'c' \x41\u00e9\q''')]<|tool_call_end|>`, want{calls: []string{"other", `{"text":"a \"b\" 'c' A\u00e9\\q"}`}}},
		{"a link", "llama4-pythonic", "", "See [other(text)](x) and [a].", want{content: "See [other(text)](x) and [a]."}},
		{"no brackets closed", "llama4-pythonic", "", "[special_function(arg1=1)", want{calls: []string{"special_function", `{"arg1":1}`}}},

		{"objects", "lfm2-pythonic", "", `<|tool_call_start|>[{"name": "special_function", "arguments": {"arg1": 1}}, {"name": "other", "arguments": {}}]<|tool_call_end|>`, want{calls: append(one, "other", "{}")}},
		{"no fence", "deepseek-v3", "", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>special_function\n{\"arg1\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", want{calls: one}},

		{"no header", "harmony", "<|start|>assistant", "Hello", want{content: "Hello"}},
		{"its own start", "harmony", "", "<|start|>assistant<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{}<|return|>", want{reasoning: "a", content: "{}"}},
		{"a preamble", "harmony", "<|start|>assistant", "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.special_function <|constrain|>json<|message|>{\"arg1\": 1}<|call|>", want{content: "I look.", calls: one}},
		{"two calls", "harmony", "<|start|>assistant", "<|channel|>commentary to=functions.special_function<|message|>{\"arg1\": 1}<|call|><|start|>assistant to=functions.other<|channel|>commentary json<|message|>{}<|call|>", want{calls: append(one, "other", "{}")}},

		{"think and respond", "granite-3", "", "<think>a</think><response>b</response>", want{reasoning: "a", content: "b"}},
		{"thinking", "apertus", "", "<|inner_prefix|>a<|inner_suffix|>b", want{reasoning: "a", content: "b"}},
		{"two members", "apertus", "", `<|tools_prefix|>[{"special_function": {"arg1": 1}}, {"other": {}}]<|tools_suffix|>`, want{calls: append(one, "other", "{}")}},
		{"MCP", "mcp-xml", "", "I look.\n<use_mcp_tool>\n<server_name>s</server_name>\n<tool_name>special_function</tool_name>\n<arguments>\n{\"arg1\": 1}\n</arguments>\n</use_mcp_tool>", want{content: "I look.", calls: one}},
	} {
		t.Run(tt.format+" "+tt.name, func(t *testing.T) {
			f, ok := Find(tt.format)
			if !ok {
				t.Fatal("no such format")
			}
			syntax := NewSyntax(f, nil)
			for n := 1; n <= len(tt.text)+1; n++ {
				var pieces []token
				for rest := tt.text; rest != ""; rest = rest[min(n, len(rest)):] {
					pieces = append(pieces, token{rest[:min(n, len(rest))], false})
				}
				got := Collect(feed(t, syntax.NewReader(Options{Prompt: tt.prompt, Tools: tools}), pieces))
				var calls []string
				for _, c := range got.Calls {
					calls = append(calls, c.Name, c.Arguments)
				}
				if got.Reasoning != tt.reasoning || got.Content != tt.content || !reflect.DeepEqual(calls, tt.calls) {
					t.Fatalf("in pieces of %d: %q is read as %+v", n, tt.text, got)
				}
			}
		})
	}
}

// TestCutOff ends replies inside a call, at every byte: what came of it is
// streamed, nothing of its markup is content, and no call is whole that the
// text does not hold.
func TestCutOff(t *testing.T) {
	tools := []Tool{{"get_weather", json.RawMessage(`{"properties":{"city":{"type":"string"},"n":{"type":"integer"}}}`)}}
	call := Call{ID: "123456789", Name: "get_weather", Arguments: `{"city": "Oslo", "n": 3}`}
	for _, name := range Names() {
		f, _ := Find(name)
		if f.ID == IDNamed {
			call.ID = "functions.get_weather:0"
		}
		text, err := f.Write([]Call{call})
		if err != nil {
			continue
		}
		opt := Options{Tools: tools}
		if f.Channel != nil {
			opt.Prompt = f.Channel.Start
		}
		syntax := NewSyntax(f, nil)
		whole := false
		for i := range len(text) + 1 {
			events := feed(t, syntax.NewReader(opt), []token{{text[:i], false}})
			got := Collect(events)
			if whole = whole || len(got.Calls) == 1; whole != (len(got.Calls) == 1) {
				t.Errorf("%s: %q has no whole call", name, text[:i])
			}
			// Words until the first marker is whole, or what may be the answer.
			trigger := 0
			for _, s := range f.Triggers() {
				if strings.HasPrefix(strings.TrimSpace(text), s) {
					trigger = len(s) + strings.Index(text, s)
				}
			}
			if f.Bare != BareNever && f.Call[0].opener() == "" {
				trigger = strings.Index(text, "get_weather") + len("get_weather\"")
			}
			if i >= trigger && got.Content != "" {
				t.Errorf("%s: %q has content %q", name, text[:i], got.Content)
			}
		}
		if !whole {
			t.Errorf("%s: %q has no whole call", name, text)
		}
	}
}
