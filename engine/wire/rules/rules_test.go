package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/grammar"
	"quern/engine/wire"
)

// vocabulary has a token for each byte, some special tokens and an end.
func vocabulary(t testing.TB, special []string) (*grammar.Trie, func(string) (int32, bool)) {
	t.Helper()
	v := grammar.Vocab{}
	for i := range 256 {
		v.Bytes = append(v.Bytes, []byte{byte(i)})
	}
	for _, s := range special {
		v.Special = append(v.Special, int32(len(v.Bytes)))
		v.Bytes = append(v.Bytes, []byte(s))
	}
	v.EOG = []int32{int32(len(v.Bytes))}
	v.Bytes = append(v.Bytes, nil)
	trie, err := grammar.NewTrie(v)
	if err != nil {
		t.Fatal(err)
	}
	return trie, func(s string) (int32, bool) {
		i := slices.Index(special, s)
		return int32(256 + i), i >= 0
	}
}

// allows reports whether a grammar lets a text pass to its end.
func allows(g *grammar.Grammar, text string, special []string) bool {
	s := g.New()
	for text != "" {
		id, n := int32(text[0]), 1
		for i, t := range special {
			if strings.HasPrefix(text, t) {
				id, n = int32(256+i), len(t)
				break
			}
		}
		if s.Accept(id) != nil {
			return false
		}
		text = text[n:]
	}
	return s.MayEnd()
}

// known are the texts XGrammar judges in another way, and why.
var known = map[string]string{
	"enforce-006": "it takes arguments in any order; we want that of the schema",
	"enforce-083": "the same, where it is switched on",
	"enforce-016": "the tool is not strict, and then it takes any value; we keep to schemas always",
	"enforce-023": "the same",
	"enforce-008": "without a schema it takes the type integer too; templates write number",
	"enforce-000": "a tool of the server, with a recipient of its own",
	"enforce-041": "it wants an empty thought before the call; the prompt has written it",
	"enforce-060": "the same",
}

// TestEnforced compares with what a peer's grammars let pass.
func TestEnforced(t *testing.T) {
	data, err := os.ReadFile(fixtures.Path(t, "toolcalls", "enforce.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	type function struct {
		Name       string
		Parameters json.RawMessage
	}
	judged, differ := 0, map[string]bool{}
	for line := range bytes.Lines(data) {
		var c struct {
			ID, Format, Family string
			Reasoning          bool
			Choice             json.RawMessage `json:"tool_choice"`
			Accept, Reject     []string
			Tools              []struct {
				function
				Function function
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Family == "cohere" {
			c.Format = "cohere-cofl"
		}
		f, _ := wire.Find(c.Format)
		o := Options{Required: string(c.Choice) != `"auto"`, Thinking: c.Reasoning, MayThink: f.Channel != nil}
		var named struct{ Function function }
		_ = json.Unmarshal(c.Choice, &named)
		for _, tool := range c.Tools {
			fn := tool.Function
			if fn.Name == "" {
				fn = tool.function
			}
			if named.Function.Name == "" || named.Function.Name == fn.Name {
				o.Tools = append(o.Tools, wire.Tool{Name: fn.Name, Parameters: fn.Parameters})
			}
		}
		for _, special := range [][]string{nil, {"<|tool_calls_section_begin|>", "<｜tool▁calls▁begin｜>", "｜DSML｜", "<tool_call>", "<|channel|>", "<|message|>", "<|call|>", "</think>"}} {
			trie, token := vocabulary(t, special)
			o.Token = token
			b := grammar.NewBuilder(grammar.Limits{})
			root, _, err := Add(b, f, o)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				continue
			}
			g, err := b.Compile(root, trie)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				continue
			}
			for _, text := range c.Accept {
				if judged++; !allows(g, text, special) {
					if known[c.ID] != "" {
						differ[c.ID] = true
						continue
					}
					t.Errorf("%s (%s, tokens %v) stops %q", c.ID, c.Format, special != nil, text)
				}
			}
			for _, text := range c.Reject {
				// Words are words, where a call does not have to come.
				if !o.Required && !slices.ContainsFunc(f.Triggers(), func(s string) bool { return strings.Contains(text, s) }) {
					continue
				}
				if judged++; allows(g, text, special) {
					if known[c.ID] != "" {
						differ[c.ID] = true
						continue
					}
					t.Errorf("%s (%s, tokens %v) lets pass %q", c.ID, c.Format, special != nil, text)
				}
			}
		}
	}
	for id := range known {
		if !differ[id] {
			t.Errorf("%s is judged as by the peer", id)
		}
	}
	if judged < 100 {
		t.Errorf("only %d texts were judged", judged)
	}
}

// tags are a format's markers that vocabularies have as special tokens.
func tags(f *wire.Format) []string {
	var out []string
	list := slices.Concat(f.Triggers(), f.Section.Close, f.Think.Open, []string{f.Think.Close, f.Quotes}, f.Content, f.Drop)
	for _, p := range append(slices.Clone(f.Call), f.Param) {
		for _, e := range p.Elements() {
			list = append(list, e.Text)
		}
	}
	if c := f.Channel; c != nil {
		list = append(append(list, "<|start|>", c.Name, c.Message, c.Constrain), c.Ends...)
	}
	for _, text := range list {
		text = strings.Trim(text, " \n`")
		whole := strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") && strings.Count(text, "<") == 1 && !strings.ContainsAny(text, " \n=")
		if whole && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// TestWalks draws tokens that each grammar allows until it may end, with and
// without special tokens: the reader of the same row reads a call of a tool that
// exists, with arguments of their types.
func TestWalks(t *testing.T) {
	tools := []wire.Tool{
		{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","maximum":9},"on":{"type":"boolean"},
			"at":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}},"required":["city","days"],"additionalProperties":false}`)},
		{Name: "ping", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	}
	walked := 0
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		for _, special := range [][]string{nil, tags(f)} {
			trie, token := vocabulary(t, special)
			b := grammar.NewBuilder(grammar.Limits{})
			root, _, err := Add(b, f, Options{Tools: tools, Required: true, Single: true, Token: token})
			if errors.Is(err, ErrUnsupported) && name == "none" {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			g, err := b.Compile(root, trie)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for seed := range seeds(5) {
				if walk(t, f, g, special, tools, seed+1) {
					walked++
				}
			}
		}
	}
	t.Logf("%d walks", walked)
	if walked < 70*int(seeds(5)) {
		t.Errorf("only %d walks came to an end", walked)
	}
}

// draw is one reply that a grammar allows, as it is read; it reports whether it came to an end.
func draw(t *testing.T, f *wire.Format, g *grammar.Grammar, special []string, tools []wire.Tool, x uint64) (text string, got wire.Reply, ended bool) {
	t.Helper()
	opt := wire.Options{Tools: tools}
	if f.Channel != nil {
		opt.Prompt = f.Channel.Start
	}
	r := wire.NewSyntax(f, func(s string) bool { return slices.Contains(special, s) }).NewReader(opt)
	s := g.New()
	var events []wire.Event
	x *= 0x9E3779B97F4A7C15
	var next choice
	for !(s.MayEnd() && text != "") {
		if len(text) > 2000 {
			return text, got, false
		}
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		var id int32
		if forced := s.Forced(); len(forced) > 0 { // which Accept holds to be allowed
			id = int32(forced[0])
		} else {
			allowed, likely := next.of(t, s, 256+len(special), "\"<}`abcde")
			if len(allowed) == 0 {
				t.Fatalf("%s: nothing may follow %q", f.Name, text)
			}
			if len(likely) > 0 && x%8 != 0 { // rather what ends strings, and letters, than any byte
				allowed = likely
			}
			id = allowed[x/8%uint64(len(allowed))]
		}
		if err := s.Accept(id); err != nil {
			t.Fatal(err)
		}
		if id > 255 {
			events = append(events, r.Special(special[id-256])...)
			text += special[id-256]
		} else {
			events = append(events, r.Write([]byte{byte(id)})...)
			text += string([]byte{byte(id)})
		}
	}
	return text, wire.Collect(append(events, r.Close()...)), true
}

// walk is one reply; it reports whether it came to an end.
func walk(t *testing.T, f *wire.Format, g *grammar.Grammar, special []string, tools []wire.Tool, x uint64) bool {
	t.Helper()
	text, got, ended := draw(t, f, g, special, tools, x)
	if !ended {
		return false
	}
	if len(got.Calls) != 1 || got.Content != "" {
		t.Errorf("%s, tokens %q: %q is read as %+v", f.Name, special, text, got)
		return true
	}
	var args struct {
		City *string
		Days *float64
		On   *bool
		At   *struct{ X *string }
	}
	d := json.NewDecoder(strings.NewReader(got.Calls[0].Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil || got.Calls[0].Name == "get_weather" && (args.City == nil || args.Days == nil || args.At != nil && args.At.X == nil) {
		t.Errorf("%s, tokens %q: %q has the call %+v: %v", f.Name, special, text, got.Calls[0], err)
	}
	return true
}

// TestChoices says what may be written for each choice of tools.
func TestChoices(t *testing.T) {
	tools := []wire.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`)}, {Name: "g"}}
	const call, other = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"x\": [1]}}\n</tool_call>"
	for _, tt := range []struct {
		name    string
		o       Options
		special []string
		pass    []string
		stop    []string
	}{
		{"auto", Options{}, nil,
			[]string{"", "words", call, "words " + call, call + "\n" + other, call + " words", "a < b, <tool", "<tool_call " + call},
			[]string{"<tool_call>", "<tool_call> words", strings.ReplaceAll(call, "1", `"x"`), strings.ReplaceAll(call, `"f"`, `"h"`), strings.ReplaceAll(call, `{"a": 1}`, `{}`), call[:len(call)-3]}},
		{"required", Options{Required: true}, nil, []string{call, "\n" + call, call + other, call + " words"}, []string{"", "words", "words " + call, "<think>\nx</think>" + call}},
		{"one only", Options{Required: true, Single: true}, nil, []string{call}, []string{call + other, call + " words"}},
		{"thinking", Options{Required: true, Thinking: true}, nil, []string{"x <tool_call> y</think>" + call, "</think>\n" + call}, []string{call, "x", "x</think>words"}},
		{"may think", Options{Required: true, MayThink: true}, nil, []string{"<think>x</think>" + call, call}, []string{"<think>x" + call, "x</think>" + call}},
		{"special tokens", Options{}, []string{"<tool_call>", "</tool_call>"}, []string{call, "words" + call + other}, []string{"<tool_call>", "<tool_call> words", strings.TrimSuffix(call, "</tool_call>")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := wire.Find("hermes-json")
			trie, token := vocabulary(t, tt.special)
			tt.o.Tools, tt.o.Token = tools, token
			b := grammar.NewBuilder(grammar.Limits{})
			root, _, err := Add(b, f, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			g, err := b.Compile(root, trie)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range tt.pass {
				if !allows(g, text, tt.special) {
					t.Errorf("%q is stopped", text)
				}
			}
			for _, text := range tt.stop {
				if allows(g, text, tt.special) {
					t.Errorf("%q passes", text)
				}
			}
		})
	}
}

// TestRefused names what cannot be enforced.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ format, schema, want string }{
		{"none", `{}`, "no calls"},
		{"gemma4", `{"oneOf": [{}]}`, "oneOf"},
		{"qwen3-coder-xml", `{"anyOf": [{"required": ["a"]}]}`, "anyOf"},
		{"qwen3-coder-xml", `{"properties": []}`, "properties"},
		{"qwen3-coder-xml", `[]`, "no object"},
		{"hermes-json", `{"type": "objekt"}`, "type"},
		{"qwen3-coder-xml", `{"properties": {"a>b": {}}}`, "name of this argument"},
		{"qwen3-coder-xml", `{"properties": {"": {}}}`, "name of this argument"},
		{"qwen3-coder-xml", `{"properties": {"a": {"const": "</parameter>"}}}`, "cannot be written between the tags"},
		{"minicpm5", `{"properties": {"a\">b": {}}}`, "name of this argument"},
		{"glm-xml", `{"properties": {"</arg_key>": {}}}`, "name of this argument"},
		{"lfm2-pythonic", `{"properties": {"a b": {}}}`, "name of this argument"},
		{"functiongemma", `{"properties": {"a:b": {}}}`, "name of this argument"},
		{"functiongemma", `{"properties": {"a": {"const": "<escape>"}}}`, "cannot be written between the tags"},
	} {
		f, _ := wire.Find(tt.format)
		_, _, err := Add(grammar.NewBuilder(grammar.Limits{}), f, Options{Tools: []wire.Tool{{Name: "f", Parameters: json.RawMessage(tt.schema)}}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %s: got %v, want %q", tt.format, tt.schema, err, tt.want)
		}
	}
}

// TestNames: a tool that is called as a word of the format is refused, and no other.
func TestNames(t *testing.T) {
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		for _, tool := range []string{"f", "get_weather", "a-b", "1", "all", "user", "self", "final", "function", "functions", "assistant", "json", "true"} {
			_, _, err := Add(grammar.NewBuilder(grammar.Limits{}), f, Options{Tools: []wire.Tool{{Name: tool}}})
			want := name == "functionary-v3.2" && tool == "all" || name == "glimmer" && (tool == "user" || tool == "self")
			if errors.Is(err, ErrUnsupported) {
				continue
			}
			if (err != nil) != want {
				t.Errorf("%s, %s: %v", name, tool, err)
			}
		}
	}
}

// TestNotes reports what raw strings cannot keep to.
func TestNotes(t *testing.T) {
	f, _ := wire.Find("qwen3-coder-xml")
	_, notes, err := Add(grammar.NewBuilder(grammar.Limits{}), f, Options{Tools: []wire.Tool{{Name: "f",
		Parameters: json.RawMessage(`{"properties": {"a": {"type": "string", "pattern": "^x", "sort": "up"}, "b": {"type": "array", "sort": "up"}}}`)}}})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "sort") {
		t.Errorf("got %q, %v", notes, err)
	}
	b := grammar.NewBuilder(grammar.Limits{})
	root, notes, err := Add(b, f, Options{Required: true, Tools: []wire.Tool{{Name: "f", Parameters: json.RawMessage(`{"properties": {"a": {"enum": ["x", "</parameter>"]}}, "required": ["a"]}`)}}})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "enum of a: 1 values are left out") {
		t.Errorf("got %q, %v", notes, err)
	}
	trie, _ := vocabulary(t, nil)
	g, err := b.Compile(root, trie)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{"x": true, "</parameter>": false} {
		if text := "<tool_call>\n<function=f>\n<parameter=a>\n" + value + "\n</parameter>\n</function>\n</tool_call>"; allows(g, text, nil) != want {
			t.Errorf("%q passes: %v, want %v", text, !want, want)
		}
	}
}

// TestMarked lets words pass with the markers that stand around them, which are
// special tokens and no text.
func TestMarked(t *testing.T) {
	tools := []wire.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)}}
	for _, tt := range []struct {
		format     string
		o          Options
		pass, stop []string
	}{
		{"harmony", Options{MayThink: true},
			[]string{"<|channel|>final<|message|>Hi", "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
				"<|channel|>final <|constrain|>json<|message|>{}", "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"b\"}<|call|>"},
			[]string{"Hi", "<|channel|>final<|message|>Hi<|start|>", "<|channel|>commentary to=functions.g<|message|>{}", "<|channel|>commentary to=functions.f<|message|>{\"b\": 1}", "<|channel|>other<|message|>Hi"}},
		{"harmony", Options{Required: true, MayThink: true},
			[]string{"<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{}"}, []string{"<|channel|>final<|message|>Hi"}},
		{"harmony", Options{}, []string{"<|channel|>final<|message|>Hi"}, []string{"<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>"}},
		{"glimmer", Options{MayThink: true},
			[]string{" to=user<|message|>Hi<|eot|>", " to=self<|message|>x<|eom|><|start|>assistant to=f<|message|><atem:function_calls>\n<atem:invoke name=\"f\">\n<atem:parameter name=\"a\">b</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>"},
			[]string{" to=g<|message|>Hi", "Hi"}},
		{"cohere-action", Options{Thinking: true},
			[]string{"x<|END_THINKING|><|START_TEXT|>Hi<|END_TEXT|>", "x<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {}}]<|END_ACTION|>"},
			[]string{"x", "x<|END_THINKING|><|START_ACTION|>none<|END_ACTION|>", "x<|END_THINKING|><|START_ACTION|>[]<|END_ACTION|>"}},
		{"kimi-k3", Options{Thinking: true},
			[]string{"x<|close|>think<|sep|><|open|>response<|sep|>Hi<|close|>response<|sep|><|close|>message<|sep|>"},
			[]string{"x<|close|>think<|sep|><|open|>tools<|sep|>", "x<|close|>think<|sep|><|open|>other<|sep|>"}},
		{"gemma4", Options{},
			[]string{"Hi", "<|channel>thought\nx<channel|>Hi", `<|tool_call>call:f{a:<|"|>b "c"<|"|>}<tool_call|>`, "<|tool_call>call:f{}<tool_call|>"},
			[]string{"<|tool_call>call:g{}<tool_call|>", "<|tool_call>call:f{a:1}<tool_call|>", "<|tool_call>"}},
	} {
		f, _ := wire.Find(tt.format)
		special := tags(f)
		for _, s := range []string{"<|open|>", "<|close|>", "<|sep|>", `<|"|>`, "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>"} {
			if !slices.Contains(special, s) {
				special = append(special, s)
			}
		}
		special = slices.DeleteFunc(special, func(s string) bool { return strings.HasPrefix(s, "<atem:") || strings.HasPrefix(s, "</atem:") })
		trie, token := vocabulary(t, special)
		tt.o.Tools, tt.o.Token = tools, token
		b := grammar.NewBuilder(grammar.Limits{})
		root, _, err := Add(b, f, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		g, err := b.Compile(root, trie)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.pass {
			if !allows(g, text, special) {
				t.Errorf("%s: %q is stopped", tt.format, text)
			}
		}
		for _, text := range tt.stop {
			if allows(g, text, special) {
				t.Errorf("%s: %q passes", tt.format, text)
			}
		}
	}
}
