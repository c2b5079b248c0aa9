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
		o := Options{Required: string(c.Choice) != `"auto"`, Thinking: c.Reasoning}
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

// TestWalks draws bytes that each grammar allows until it may end: the reader of
// the same row reads calls of tools that exist, with arguments of their types.
func TestWalks(t *testing.T) {
	tools := []wire.Tool{
		{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","maximum":9},"on":{"type":"boolean"}},"required":["city","days"],"additionalProperties":false}`)},
		{Name: "ping", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	}
	supported := 0
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		trie, _ := vocabulary(t, nil)
		b := grammar.NewBuilder(grammar.Limits{})
		root, _, err := Add(b, f, Options{Tools: tools, Required: true, Single: true})
		if errors.Is(err, ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		supported++
		g, err := b.Compile(root, trie)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for seed := uint64(1); seed <= 30; seed++ {
			x := seed * 0x9E3779B97F4A7C15
			s := g.New()
			var text []byte
			for !(s.MayEnd() && len(text) > 0) && len(text) < 4000 {
				mask := make([]uint32, (257+31)/32)
				if err := s.Mask(mask); err != nil {
					t.Fatal(err)
				}
				// Rather what ends strings, and letters, than any byte.
				var allowed, likely []int32
				for id := range int32(256) {
					if mask[id/32]>>(id%32)&1 != 0 {
						allowed = append(allowed, id)
						if id == '"' || id == '<' || id == '}' || id == '`' || id >= 'a' && id <= 'e' {
							likely = append(likely, id)
						}
					}
				}
				if len(allowed) == 0 {
					t.Fatalf("%s: nothing may follow %q", name, text)
				}
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				list := allowed
				if len(likely) > 0 && x%8 != 0 {
					list = likely
				}
				id := list[x/8%uint64(len(list))]
				if forced := s.Forced(); len(forced) > 0 {
					id = int32(forced[0])
				}
				if err := s.Accept(id); err != nil {
					t.Fatal(err)
				}
				text = append(text, byte(id))
			}
			if !s.MayEnd() {
				continue
			}
			opt := wire.Options{Tools: tools}
			if f.Channel != nil {
				opt.Prompt = f.Channel.Start
			}
			r := wire.NewSyntax(f, nil).NewReader(opt)
			got := wire.Collect(append(slices.Clone(r.Write(text)), r.Close()...))
			if len(got.Calls) != 1 || got.Content != "" {
				t.Errorf("%s: %q is read as %+v", name, text, got)
				continue
			}
			var args struct {
				City *string
				Days *float64
				On   *bool
			}
			d := json.NewDecoder(strings.NewReader(got.Calls[0].Arguments))
			d.DisallowUnknownFields()
			if err := d.Decode(&args); err != nil || got.Calls[0].Name == "get_weather" && (args.City == nil || args.Days == nil) {
				t.Errorf("%s: %q has the call %+v: %v", name, text, got.Calls[0], err)
			}
		}
	}
	t.Logf("%d formats", supported)
	if supported < 30 {
		t.Errorf("grammars of %d formats only", supported)
	}
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
		{"lfm2-pythonic", `{}`, "no grammar"},
		{"gemma4", `{}`, "no grammar"},
		{"minimax-m3", `{}`, "no grammar"},
		{"none", `{}`, "no grammar"},
		{"qwen3-coder-xml", `{"anyOf": [{"required": ["a"]}]}`, "anyOf"},
		{"qwen3-coder-xml", `{"properties": []}`, "properties"},
		{"qwen3-coder-xml", `[]`, "no object"},
		{"hermes-json", `{"type": "objekt"}`, "type"},
	} {
		f, _ := wire.Find(tt.format)
		_, _, err := Add(grammar.NewBuilder(grammar.Limits{}), f, Options{Tools: []wire.Tool{{Name: "f", Parameters: json.RawMessage(tt.schema)}}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %s: got %v, want %q", tt.format, tt.schema, err, tt.want)
		}
	}
}

// TestNotes reports what raw strings cannot keep to.
func TestNotes(t *testing.T) {
	f, _ := wire.Find("qwen3-coder-xml")
	_, notes, err := Add(grammar.NewBuilder(grammar.Limits{}), f, Options{Tools: []wire.Tool{{Name: "f",
		Parameters: json.RawMessage(`{"properties": {"a": {"type": "string", "pattern": "^x"}, "b": {"enum": ["x", "y"]}}}`)}}})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "pattern of a") {
		t.Errorf("got %q, %v", notes, err)
	}
}
