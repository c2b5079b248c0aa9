package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// held is what a reader keeps in memory.
func held(r *Reader) int {
	return len(r.in) + len(r.raw) + len(r.blank) + len(r.call.args) + len(r.call.whole) + len(r.call.val.out) + len(r.fence.held)
}

// TestBounds feeds replies that never decide anything, and looks at what is
// held back.
func TestBounds(t *testing.T) {
	const size = 5 << 18 // more than any bound
	for _, tt := range []struct {
		format, start, repeat, prompt string
		most                          int
	}{
		{"hermes-json", "", " ", "", MaxHeld},
		{"hermes-json", "x", "\n", "", MaxHeld},
		{"hermes-json", `<tool_call>`, " ", "", MaxHeld},
		{"hermes-json", `<tool_call>{"arguments": {"a": "`, "x", "", 2 * MaxHeld},
		{"hermes-json", `<tool_call>{"arguments": "`, `\"`, "", 7 * MaxValue},
		{"hermes-json", `<tool_call>{"`, "x", "", MaxHeld},
		{"hermes-json", `<tool_call>{"id": "`, "x", "", MaxHeld},
		{"hermes-json", `<tool_call>{"other": "`, "x", "", MaxHeld},
		{"hermes-json", `<tool_call>{"name": "f", "arguments": `, `{"a":`, "", MaxHeld},
		{"hermes-json", `<tool_call>{"name": "f", "arguments": {"a": `, "1", "", MaxHeld},
		{"hermes-json", `<tool_call>{"name": "f", "arguments": {}}`, " ", "", 2 * MaxHeld},
		{"hermes-json", `<tool_call>`, "x", "<think>", MaxHeld},
		{"hermes-json", `x`, "<", "<think>", MaxHeld},
		{"mistral-array", `[TOOL_CALLS][{"name": "f", "arguments": {"a": "`, "x", "", 2 * MaxHeld},
		{"bare-json", ``, "[", "", MaxHeld},
		{"bare-json", ``, "{ ", "", MaxHeld},
		{"bare-json", ``, `{"type": "`, "", MaxHeld},
		{"bare-json", `{"type": "`, `x`, "", 3 * MaxHeld},
		{"qwen3-coder-xml", "<tool_call><function=", "x", "", MaxHeld},
		{"qwen3-coder-xml", "<tool_call><function=f>", " ", "", MaxHeld},
		{"qwen3-coder-xml", "<tool_call><function=f><parameter=", "x", "", MaxHeld},
		{"qwen3-coder-xml", "<tool_call><function=f><parameter=b>", "x", "", MaxValue + MaxHeld},
		{"qwen3-coder-xml", "<tool_call><function=f><parameter=a>", "\n", "", MaxHeld},
		{"qwen3-coder-xml", "<tool_call><function=f>", "<parameter=a>x</parameter>", "", MaxHeld},
		{"minimax-m3", "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">", "]<]minimax[>[<c>", "", MaxHeld},
		{"glm-xml", "", "<tool_call>f\n{}\n", "", MaxHeld},
		{"kimi-k2", "<|tool_call_begin|>", "x", "", MaxHeld},
		{"deepseek-v3", "<｜tool▁calls▁begin｜>", "x", "", MaxHeld},
		{"deepseek-v3", "<｜tool▁outputs▁begin｜>", "x", "", MaxHeld},
		{"lfm2-pythonic", "<|tool_call_start|>[", "x", "", MaxHeld},
		{"lfm2-pythonic", "<|tool_call_start|>[f(", "x", "", MaxHeld},
		{"lfm2-pythonic", "<|tool_call_start|>[f(a", " ", "", MaxHeld},
		{"lfm2-pythonic", "<|tool_call_start|>[f(a=", "[", "", MaxHeld},
		{"llama4-pythonic", "", "[f", "", MaxHeld},
		{"gemma4", "<|tool_call>call:f{", "k", "", MaxHeld},
		{"gemma4", `<|tool_call>call:f{k:<|"|>`, "<", "", MaxHeld},
		{"harmony", " to=", "x", "<|start|>assistant", MaxHeld},
		{"harmony", "", "<|channel|>", "<|start|>assistant", MaxHeld},
	} {
		t.Run(tt.format+" "+tt.start+" "+tt.repeat, func(t *testing.T) {
			f, _ := Find(tt.format)
			r := NewSyntax(f, nil).NewReader(Options{Prompt: tt.prompt, Tools: fuzzTools})
			r.Write([]byte(tt.start))
			piece := []byte(strings.Repeat(tt.repeat, max(1, 64/len(tt.repeat))))
			n := 0
			for range size / len(piece) {
				r.Write(piece)
				n = max(n, held(r))
			}
			r.Close()
			if n > tt.most+1024 {
				t.Errorf("%d bytes were held back, want at most %d", n, tt.most)
			}
		})
	}
}

// TestLimits breaks the other limits: such calls are not whole.
func TestLimits(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<tool_call>\n{\"name\": \"f%d\", \"arguments\": {}}\n</tool_call>\n", i)
		}
		return b.String()
	}
	one := func(name, value string) string {
		return `<tool_call>{"name": "` + name + `", "arguments": {"a": ` + value + `}}</tool_call>`
	}
	for _, tt := range []struct {
		name, text string
		calls      int
	}{
		{"as deep as may be", one("f", deep(MaxDepth-1)), 1},
		{"deeper", one("f", deep(MaxDepth)), 0},
		{"as long a name as may be", one(strings.Repeat("n", MaxName), "1"), 1},
		{"longer", one(strings.Repeat("n", MaxName+1), "1"), 0},
		{"as many calls as may be", many(MaxCalls), MaxCalls},
		{"more", many(MaxCalls + 5), MaxCalls},
		{"a number too long", one("f", strings.Repeat("1", maxWord+1)), 0},
		{"a call after a bad one", one("f", "x") + one("g", "1"), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := Find("hermes-json")
			got := Collect(feed(t, NewSyntax(f, nil).NewReader(Options{}), []token{{tt.text, false}}))
			if len(got.Calls) != tt.calls || got.Content != "" {
				t.Errorf("got %d calls and content %q, want %d", len(got.Calls), got.Content, tt.calls)
			}
		})
	}
}

// TestSpelled writes every format's markers as text to a vocabulary that has
// them as special tokens: that is text, and reads as it was written.
func TestSpelled(t *testing.T) {
	for _, name := range Names() {
		f, _ := Find(name)
		var tags []string
		for _, text := range f.texts() {
			if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") && !strings.Contains(text, " ") {
				tags = append(tags, text)
			}
		}
		if len(tags) == 0 {
			continue
		}
		syntax := NewSyntax(f, func(s string) bool { return slices.Contains(tags, s) })
		for _, tag := range tags {
			if strings.Contains(tag[1:], "<") || f.Channel != nil && tag == f.Channel.Message {
				continue // it is several, or may be a header's
			}
			opt := Options{}
			if f.Channel != nil {
				opt.Prompt = "<|start|>assistant<|channel|>final<|message|>"
				if f.Channel.To["self"] == RegionThinking {
					opt.Prompt = "<|start|>assistant to=user<|message|>"
				}
			}
			text := "Write " + tag + " then."
			got := Collect(feed(t, syntax.NewReader(opt), []token{{text, false}}))
			if got.Content != text || got.Reasoning != "" {
				t.Errorf("%s: %q is read as %+v", name, text, got)
			}
		}
	}
}

// TestForeignSpecial drops special tokens that the format does not know, as
// those that end a turn.
func TestForeignSpecial(t *testing.T) {
	f, _ := Find("hermes-json")
	r := NewSyntax(f, func(string) bool { return true }).NewReader(Options{})
	got := Collect(feed(t, r, []token{{"a", false}, {"<|im_end|>", true}, {"b", false}}))
	if got.Content != "ab" {
		t.Errorf("got %+v", got)
	}
}

// TestIDs looks at the ids of calls that have none of their own.
func TestIDs(t *testing.T) {
	f, _ := Find("hermes-json")
	call := `<tool_call>{"name": "f", "arguments": {}}</tool_call>`
	for _, short := range []bool{false, true} {
		n := uint64(0)
		opt := Options{ShortIDs: short, Random: func() uint64 { n += 5; return n }}
		got := Collect(feed(t, NewSyntax(f, nil).NewReader(opt), []token{{call + call, false}}))
		want := []string{"call_5AFKPUZejoty38DI", "call_NSXchmrw16BGLQV0"}
		if short {
			want = []string{"5AFKPUZej", "oty38DINS"}
		}
		for i, c := range got.Calls {
			if len(c.ID) != len(want[i]) || strings.HasPrefix(c.ID, "call_") == short {
				t.Errorf("got id %q, want one like %q", c.ID, want[i])
			}
		}
		if len(got.Calls) != 2 || got.Calls[0].ID == got.Calls[1].ID {
			t.Errorf("got %+v", got.Calls)
		}
	}
}

// TestNoCalls leaves calls in the content where the client gave no tools.
func TestNoCalls(t *testing.T) {
	f, _ := Find("hermes-json")
	text := `a <tool_call>{"name": "f", "arguments": {}}</tool_call> b`
	got := Collect(feed(t, NewSyntax(f, nil).NewReader(Options{NoCalls: true}), []token{{"<think>x</think>" + text, false}}))
	if got.Content != text || got.Reasoning != "x" || got.Calls != nil {
		t.Errorf("got %+v", got)
	}
}

// TestSchemas reads values by the types their schemas allow.
func TestSchemas(t *testing.T) {
	f, _ := Find("qwen3-coder-xml")
	schema := `{"$defs": {"s": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}, "n": {"anyOf": [{"$ref": "#/$defs/s"}, {"type": "null"}]}},
		"properties": {"a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/n"}, "c": {"const": 1}, "d": {"enum": ["1", "2"]}, "e": {"$ref": "#/$defs/loop"},
		"g": {"type": ["integer", "string"]}, "h": {"allOf": [{"type": "object"}]}}, "additionalProperties": {"type": "integer"}}`
	for _, tt := range []struct{ key, text, want string }{
		{"a", "1", `"1"`}, {"a", "null", `"null"`}, {"b", "null", `null`}, {"b", "word", `"word"`}, {"c", "1", "1"},
		{"d", "1", `"1"`}, {"e", "1", `"1"`}, {"g", "12", "12"}, {"g", "1.2.3", `"1.2.3"`}, {"h", `{'k': True}`, `{"k":true}`},
		{"h", `{"k": [1, "x"]}`, `{"k":[1,"x"]}`}, {"other", "7", "7"}, {"other", "word", `"word"`}, {"a", " two\n lines ", `" two\n lines "`},
	} {
		text := "<tool_call>\n<function=f>\n<parameter=" + tt.key + ">\n" + tt.text + "\n</parameter>\n</function>\n</tool_call>"
		opt := Options{Tools: []Tool{{"f", json.RawMessage(schema)}}}
		got := Collect(feed(t, NewSyntax(f, nil).NewReader(opt), []token{{text, false}}))
		if len(got.Calls) != 1 || got.Calls[0].Arguments != `{"`+tt.key+`":`+tt.want+`}` {
			t.Errorf("%s = %q is read as %+v, want %s", tt.key, tt.text, got.Calls, tt.want)
		}
	}
}

// TestPrompt begins where the prompt ends.
func TestPrompt(t *testing.T) {
	for _, tt := range []struct {
		format, prompt, text string
		reasoning, content   string
		open                 bool
	}{
		{"hermes-json", "<|im_start|>assistant\n", " a", "", " a", false},
		{"hermes-json", "<|im_start|>assistant\n<think>\n", "\na</think>\n\nb", "a", "b", true},
		{"hermes-json", "<think>a", " b</think>c", " b", "c", true},
		{"hermes-json", "<think>a</think>\n\n", "\nb", "", "b", false},
		{"hermes-json", "<think>a</think>\n\nb", " c", "", " c", false},
		{"harmony", "<|start|>assistant<|channel|>final<|message|>a ", "b<|return|>", "", "b", false},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>a", " b<|end|><|start|>assistant<|channel|>final<|message|>c", " b", "c", true},
		{"harmony", "<|start|>assistant<|channel|>", "analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "a", "b", false},
		{"kimi-k3", "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>", "a<|close|>response<|sep|>", "", "a", false},
		{"apriel", "<|begin_assistant|>\nHere are my reasoning steps:\n", "a\n[BEGIN FINAL RESPONSE]\nb", "a", "b", true},
		{"functionary-v3.2", "assistant\n\n>>>", "all\na", "", "a", false},
		{"functionary-v3.2", "assistant\n\n>>>all\nb", "a", "", "a", false},
	} {
		f, _ := Find(tt.format)
		for _, n := range []int{1, 3, 1000} {
			var pieces []token
			for rest := tt.text; rest != ""; rest = rest[min(n, len(rest)):] {
				pieces = append(pieces, token{rest[:min(n, len(rest))], false})
			}
			got := Collect(feed(t, NewSyntax(f, nil).NewReader(Options{Prompt: tt.prompt}), pieces))
			if got.Content != tt.content || got.Reasoning != tt.reasoning || got.Calls != nil {
				t.Errorf("%s after %q: %q is read as %+v", tt.format, tt.prompt, tt.text, got)
			}
		}
		if got := f.OpensThinking(tt.prompt); got != tt.open {
			t.Errorf("%s: OpensThinking(%q) = %v", tt.format, tt.prompt, got)
		}
	}
}
