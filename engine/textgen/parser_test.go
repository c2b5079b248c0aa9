package textgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/token"
	"quern/engine/wire"
)

// controlVocab has one token a byte, then the given control tokens, then <end>.
func controlVocab(t *testing.T, controls ...string) *token.Vocab {
	t.Helper()
	s := token.Spec{Model: "llama"}
	add := func(text string, kind token.Kind) {
		s.Tokens = append(s.Tokens, text)
		s.Kinds = append(s.Kinds, kind)
		s.Scores = append(s.Scores, float32(-len(s.Tokens)))
	}
	for i := range 256 {
		add(fmt.Sprintf("<0x%02X>", i), token.Byte)
	}
	for _, c := range controls {
		add(c, token.Control)
	}
	add("<end>", token.Control)
	v, err := token.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// tokensOf are the tokens of a text in which control tokens are spelled out.
func tokensOf(v *token.Vocab, text string) (ids []token.ID) {
next:
	for text != "" {
		for id := token.ID(256); int(id) < v.Size(); id++ {
			if rest, ok := strings.CutPrefix(text, v.Text(id)); ok {
				ids, text = append(ids, id), rest
				continue next
			}
		}
		ids, text = append(ids, token.ID(text[0])), text[1:]
	}
	return ids
}

// written is the events of a reply as text: thinking in (), calls in [].
type written struct {
	text    strings.Builder
	entries int
}

func (w *written) add(events []engine.Event) {
	for _, ev := range events {
		w.entries += len(ev.Logprobs)
		switch ev.Type {
		case engine.Delta:
			w.text.WriteString(ev.Text)
		case engine.ReasoningDelta:
			w.text.WriteString("(" + ev.Text + ")")
		case engine.CallStart:
			fmt.Fprintf(&w.text, "[%d %s ", ev.Call, ev.Name)
		case engine.CallDelta:
			w.text.WriteString(ev.Text)
		case engine.CallEnd:
			w.text.WriteString("]")
		}
	}
}

func formatOf(t *testing.T, v *token.Vocab, format string, opt wire.Options) *answerFormat {
	t.Helper()
	f, ok := wire.Find(format)
	if !ok {
		t.Fatalf("no format %q", format)
	}
	return &answerFormat{symbols: newSymbols(v, f), options: opt}
}

func TestParser(t *testing.T) {
	call := `{"name": "f", "arguments": {"a": "END"}}`
	for _, tt := range []struct {
		name     string
		format   string
		controls []string
		opt      wire.Options
		one      bool
		stops    []string
		text     string
		want     string
		stop     string
		stopped  bool
		thought  int
		calls    int
		entries  int // that come out, of one a token
	}{
		{name: "thinking", format: "hermes-json", text: "<think>hm</think>so", want: "(hm)so", thought: 2, entries: 19},
		{name: "a marker that begins twice", format: "hermes-json", text: "<think>hm<</think>so", want: "(hm<)so", thought: 3, entries: 20},
		{name: "thinking, with tokens", format: "hermes-json", controls: []string{"<think>", "</think>"}, text: "<think>hm</think>so", want: "(hm)so", thought: 2, entries: 6},
		{name: "a marker that is text", format: "hermes-json", controls: []string{"<think>", "</think>"}, opt: wire.Options{NoCalls: true}, text: "say \x3cthink", want: "say <think", entries: 10},
		{name: "the prompt opened thinking", format: "hermes-json", opt: wire.Options{Prompt: "<think>\n"}, text: "hm</think>so", want: "(hm)so", thought: 2, entries: 12},
		{name: "no stop in thinking", format: "hermes-json", stops: []string{"END"}, text: "<think>END</think>no END no", want: "(END)no ", stop: "END", stopped: true, thought: 3, entries: 21},
		{name: "no stop in calls", format: "hermes-json", stops: []string{"END"}, text: "a<tool_call>" + call + "</tool_call>", want: `a[0 f {"a": "END"}]`, calls: 1, entries: 24 + len(call)},
		{name: "no stop over a call", format: "nemotron-v2", stops: []string{"ab"}, text: "xa<TOOLCALL>[" + call + "]</TOOLCALL>b", want: `xa[0 f {"a": "END"}]b`, calls: 1, entries: 26 + len(call)},
		{name: "a stop after a call", format: "nemotron-v2", stops: []string{"b"}, text: "<TOOLCALL>[" + call + "]</TOOLCALL>ab", want: `[0 f {"a": "END"}]a`, calls: 1, stop: "b", stopped: true, entries: 24 + len(call)},
		{name: "two calls", format: "hermes-json", text: "<tool_call>" + call + "</tool_call>\n<tool_call>" + call + "</tool_call>", want: `[0 f {"a": "END"}][1 f {"a": "END"}]`, calls: 2, entries: 47 + 2*len(call)},
		{name: "one of two", format: "hermes-json", one: true, text: "<tool_call>" + call + "</tool_call>\n<tool_call>" + call + "</tool_call>", want: `[0 f {"a": "END"}]`, calls: 1, stopped: true, entries: 11 + len(call)},
		{name: "cut off", format: "hermes-json", text: "<tool_call>" + call[:30], want: `[0 f {"a`, entries: 41},
		{name: "not for calls", format: "hermes-json", opt: wire.Options{NoCalls: true}, text: "<tool_call>" + call + "</tool_call>", want: "<tool_call>" + call + "</tool_call>", entries: 23 + len(call)},
		{name: "half a character", format: "hermes-json", text: "a\xf0\x9f", want: "a", entries: 3},
		{name: "a token that says nothing", format: "hermes-json", controls: []string{"<other>"}, text: "a<other>b", want: "ab", entries: 3},
		{name: "headers", format: "harmony", controls: []string{"<|channel|>", "<|message|>", "<|start|>", "<|call|>", "<|constrain|>"},
			text: "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>", want: `(hm)[0 f {"a": 1}]`, thought: 2, calls: 1, entries: 65},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := controlVocab(t, append(tt.controls, "<|end|>")...)
			l := formatOf(t, v, tt.format, tt.opt)
			l.one = tt.one
			q := newReply(v, tt.stops, l)
			var w written
			ids := tokensOf(v, tt.text)
			for _, id := range ids {
				if q.stopped {
					break
				}
				q.push(id, 0, &engine.Logprob{ID: id, Bytes: v.Bytes(id)})
				w.add(q.events())
			}
			q.flush(token.None)
			w.add(q.events())
			if got := strings.ReplaceAll(w.text.String(), ")(", ""); got != tt.want || q.stop != tt.stop || q.stopped != tt.stopped {
				t.Errorf("events %q, stop %q (%v), want %q, %q", got, q.stop, q.stopped, tt.want, tt.stop)
			}
			if q.thought != tt.thought || q.calls != tt.calls || w.entries != tt.entries {
				t.Errorf("%d tokens of thinking, %d calls, %d entries of %d tokens; want %d, %d, %d", q.thought, q.calls, w.entries, len(ids), tt.thought, tt.calls, tt.entries)
			}
		})
	}
}

// What every format writes is read from its tokens, whatever of its markers are special.
func TestHearingFormats(t *testing.T) {
	want := []wire.Call{{ID: "abcdefghi", Name: "get_weather", Arguments: `{"city":"Oslo","days":3}`}, {ID: "abcdefghj", Name: "get_time", Arguments: `{"zone":"UTC"}`}}
	tools := []wire.Tool{
		{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`)},
		{Name: "get_time", Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"}}}`)},
	}
	read := 0
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		text, err := f.Write(want)
		if err != nil {
			continue
		}
		var opt wire.Options
		if f.Channel != nil {
			opt.Prompt = f.Channel.Start
		}
		opt.Tools = tools
		if f.ID == wire.IDNamed {
			for i := range want {
				want[i].ID = fmt.Sprintf("functions.%s:%d", want[i].Name, i)
			}
			text, _ = f.Write(want)
		}
		markers := slices.DeleteFunc(f.Triggers(), func(s string) bool { return strings.ContainsAny(s, " \n") || strings.Count(s, "<") > 1 })
		for _, controls := range [][]string{nil, markers} {
			v := controlVocab(t, controls...)
			q := newReply(v, nil, formatOf(t, v, name, opt))
			var calls []wire.Call
			collect := func() {
				for _, ev := range q.events() {
					switch ev.Type {
					case engine.CallStart:
						calls = append(calls, wire.Call{Name: ev.Name})
					case engine.CallDelta:
						calls[len(calls)-1].Arguments += ev.Text
					}
				}
			}
			for _, id := range tokensOf(v, text) {
				q.push(id, 0, nil)
				collect()
			}
			q.flush(token.None)
			collect()
			if q.calls != 2 || len(calls) != 2 {
				t.Errorf("%s with tokens %q: %d calls of 2 in %q", name, controls, q.calls, text)
				continue
			}
			for i, c := range calls {
				if c.Name != want[i].Name || canonical(c.Arguments) != canonical(want[i].Arguments) {
					t.Errorf("%s with tokens %q: %+v, want %+v", name, controls, c, want[i])
				}
			}
			read++
		}
	}
	if read < 70 {
		t.Errorf("only %d readings", read)
	}
}

func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return "no JSON: " + text
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// Entries come in the order of their tokens, before their text or with it.
// TestAside: the entries of a reply that are not aside spell its text.
func TestAside(t *testing.T) {
	const call = `{"name": "f", "arguments": {"a": "x"}}`
	think := []string{"<think>", "</think>"}
	for _, tt := range []struct {
		format     string
		controls   []string
		text, want string
	}{
		{"hermes-json", nil, "so it is", "so it is"},
		{"hermes-json", nil, "<think>hm</think>so it is", "so it is"},
		{"hermes-json", think, "<think>hm</think>so <b> it is", "so <b> it is"},
		{"hermes-json", nil, "a b <tool_call>" + call + "</tool_call>", "a b"},
		{"hermes-json", think, "<think>hm</think><tool_call>" + call + "</tool_call>", ""},
		{"nemotron-v2", nil, "a<TOOLCALL>[" + call + "]</TOOLCALL>b", "ab"},
		{"hermes-json", nil, "<tool_call>" + call[:30], ""},
		{"harmony", []string{"<|channel|>", "<|message|>", "<|start|>", "<|end|>"}, "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>so", "so"},
	} {
		for _, late := range []int{1, 3, 1000} { // tokens whose events are taken together
			v := controlVocab(t, tt.controls...)
			q := newReply(v, nil, formatOf(t, v, tt.format, wire.Options{}))
			text, spelled, entries := "", "", 0
			take := func() {
				for _, ev := range q.events() {
					if ev.Type == engine.Delta {
						text += ev.Text
					}
					for _, e := range ev.Logprobs {
						if entries++; !e.Aside {
							spelled += string(e.Bytes)
						}
					}
				}
			}
			ids := tokensOf(v, tt.text)
			for i, id := range ids {
				q.push(id, 0, &engine.Logprob{ID: id, Bytes: v.Bytes(id)})
				if i%late == 0 {
					take()
				}
			}
			q.flush(token.None)
			take()
			if text != tt.want || spelled != tt.want || entries != len(ids) {
				t.Errorf("%s, %q by %d: text %q, entries of %q, %d of %d in all", tt.format, tt.text, late, text, spelled, entries, len(ids))
			}
		}
	}
}

func TestHearingEntries(t *testing.T) {
	v := controlVocab(t)
	q := newReply(v, []string{"xyz"}, formatOf(t, v, "hermes-json", wire.Options{}))
	var got []token.ID
	shown := ""
	take := func() {
		for _, ev := range q.events() {
			for _, e := range ev.Logprobs {
				got = append(got, e.ID)
			}
			if ev.Type == engine.Delta {
				shown += ev.Text
			}
			if len(got) < len(shown) {
				t.Errorf("%d entries of %q", len(got), shown)
			}
		}
	}
	ids := tokensOf(v, "a xx\n\n<b>xyw  c")
	for _, id := range ids {
		q.push(id, 0, &engine.Logprob{ID: id, Bytes: v.Bytes(id)})
		take()
	}
	q.flush(token.None)
	take()
	if !slices.Equal(got, ids) {
		t.Errorf("entries %v of %v", got, ids)
	}
}

// Tools and thinking of a conversation: what is refused, and what the prompt ends with.
func TestListen(t *testing.T) {
	const (
		shows = `{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant{% endif %}`
		plain  = `{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}`
		thinks = `{% for m in messages %}{{ m.role }}: {{ m.content.split('</think>')[-1] }}{% endfor %}`
		opens  = `{% for m in messages %}{{ m.role }}: {{ m.content.split('</think>')[-1] }}{% endfor %}{% if add_generation_prompt %}<think>{% endif %}`
	)
	tool := chat.Tool{Raw: json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`)}
	off := map[string]json.RawMessage{"enable_thinking": json.RawMessage("false")}
	for _, tt := range []struct {
		name      string
		templates Templates
		template  string
		tools     bool
		kwargs    map[string]json.RawMessage
		reads     string // format, "" for plain text
		tail      string // what the prompt ends with
		code      engine.Code
	}{
		{name: "plain text", template: plain},
		{name: "tools shown", template: shows, tools: true, reads: "hermes-json"},
		{name: "tools shown, none given", template: shows},
		{name: "tools described", template: plain, tools: true, reads: "hermes-json"},
		{name: "tools not described", template: plain, tools: true, templates: Templates{NoFallback: true}, code: engine.CodeUnsupportedParam},
		{name: "turned off", template: shows, tools: true, templates: Templates{Format: noFormat}, code: engine.CodeUnsupportedParam},
		{name: "turned off, thinking", template: thinks, templates: Templates{Format: noFormat}},
		{name: "configured", template: shows, tools: true, templates: Templates{Format: "seed-xml"}, reads: "seed-xml"},
		{name: "thinking", template: thinks, reads: "none"},
		{name: "thinking off without a switch", template: thinks, kwargs: off, reads: "none", tail: "<think>\n\n</think>\n\n"},
		{name: "thinking opened and off", template: opens, kwargs: off, reads: "none", tail: "<think>\n</think>\n\n"},
		{name: "no thinking to switch off", template: plain, kwargs: off},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := modelOf(t, 1024)
			tt.templates.Own = tt.template
			m.templates = tt.templates
			p := engine.Prompt{Messages: []chat.Message{{Role: chat.RoleUser, Text: "Hi"}}, Template: tt.template, Kwargs: tt.kwargs}
			if tt.tools {
				p.Tools = []chat.Tool{tool}
			}
			_, _, talk, err := m.prompt(t.Context(), &p)
			var l *answerFormat
			if err == nil {
				l, err = talk.answerFormat(&engine.GenerateRequest{Prompt: p})
			}
			if e, ok := err.(*engine.Error); (err != nil || tt.code != "") && (!ok || e.Code != tt.code) {
				t.Fatalf("got %v, want %s", err, tt.code)
			}
			if tt.code != "" {
				return
			}
			got := ""
			if l != nil {
				got = l.symbols.syntax.Format.Name
			}
			if got != tt.reads || !strings.HasSuffix(talk.tail, tt.tail) {
				t.Errorf("answers are read as %q behind %q, want %q behind %q", got, talk.tail, tt.reads, tt.tail)
			}
		})
	}
}

// A conversation with calls and a request without tools bars what begins a call.
func TestBarred(t *testing.T) {
	m := modelOf(t, 256)
	m.Vocab = controlVocab(t, "<tool_call>", "</tool_call>")
	hermes, _ := wire.Find("hermes-json")
	c := &conversation{m: m, own: func() *dialect {
		return &dialect{found: wire.Found{Format: hermes}, symbols: m.symbolsOf}
	}}
	called := []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.Call{{Name: "f"}}}}
	tools := []chat.Tool{{}}
	for _, tt := range []struct {
		prompt engine.Prompt
		want   []token.ID
	}{
		{engine.Prompt{Messages: called}, []token.ID{256}},
		{engine.Prompt{Messages: called, Tools: tools}, nil},
		{engine.Prompt{Messages: []chat.Message{{Role: chat.RoleUser}}}, nil},
	} {
		if got := c.barred(&engine.GenerateRequest{Prompt: tt.prompt}); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v barred, want %v", tt.prompt, got, tt.want)
		}
	}
}
