package rules

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quern/engine/grammar"
	"quern/engine/grammar/regex"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
)

// formTools are tools whose calls are short.
var formTools = []wire.Tool{
	{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"enum":["Oslo","Rome"]}},"required":["city"],"additionalProperties":false}`)},
	{Name: "ping", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
}

// withForm compiles the replies of a format whose words are of a form.
func withForm(t *testing.T, f *wire.Format, special []string, o Options, words func(*grammar.Builder) *grammar.Node) *grammar.Grammar {
	t.Helper()
	trie, token := vocabulary(t, special)
	b := grammar.NewBuilder(grammar.Limits{})
	o.Token, o.Words = token, words(b)
	root, _, err := Add(b, f, o)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	g, err := b.Compile(root, trie)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return g
}

func ofSchema(src string) func(*grammar.Builder) *grammar.Node {
	return func(b *grammar.Builder) *grammar.Node {
		n, _, err := schema.Add(b, []byte(src), schema.Options{Name: "words"})
		if err != nil {
			panic(err)
		}
		return n
	}
}

func ofRegex(src string) func(*grammar.Builder) *grammar.Node {
	return func(b *grammar.Builder) *grammar.Node {
		r, err := regex.Parse(src, regex.Options{})
		if err != nil {
			panic(err)
		}
		return b.Lexeme(r)
	}
}

// TestFormWalks draws replies of every format that may think, call, or answer in a form,
// among whose texts are the markers of the format: what is read as content is of the form,
// to the byte, and beside it there is no call.
func TestFormWalks(t *testing.T) {
	type form = func(*grammar.Builder) *grammar.Node
	for _, form := range []struct {
		name  string
		words func(markers string) (form, func(content string) bool)
		read  wire.Form
		tools []wire.Tool
	}{
		{"JSON", func(markers string) (form, func(string) bool) {
			marked, _ := json.Marshal(" " + markers)
			return ofSchema(`{"enum":[{"name":"x"},["y"],` + string(marked) + `]}`), func(content string) bool {
				var v any
				err := json.Unmarshal([]byte(content), &v)
				return err == nil && (reflect.DeepEqual(v, map[string]any{"name": "x"}) || reflect.DeepEqual(v, []any{"y"}) || v == " "+markers)
			}
		}, wire.FormJSON, formTools},
		{"text", func(markers string) (form, func(string) bool) {
			re := `( \n|ab|c[a-e ]{0,9}` + regexp.QuoteMeta(markers) + `)`
			return ofRegex(re), regexp.MustCompile("^" + re + "$").MatchString
		}, wire.FormText, formTools},
		{"text without tools", func(string) (form, func(string) bool) {
			const re = ` ?\{[a-e ]{3} `
			return ofRegex(re), regexp.MustCompile("^" + re + "$").MatchString
		}, wire.FormText, nil},
	} {
		answered, called, thought := 0, 0, 0
		for _, name := range wire.Names() {
			f, _ := wire.Find(name)
			tools := form.tools
			if name == "none" {
				tools = nil
			}
			for _, special := range [][]string{nil, tags(f)} {
				words, fits := form.words(strings.Join(slices.Concat(f.Triggers(), f.Think.Open, []string{f.Think.Close}, f.Content, f.Drop), ""))
				for _, thinking := range []bool{false, true} {
					o := Options{Tools: tools, Form: form.read, Thinking: thinking && f.Channel == nil, MayThink: true}
					opt := wire.Options{Tools: tools, NoCalls: tools == nil, Form: form.read}
					switch {
					case f.Channel != nil:
						opt.Prompt = f.Channel.Start
					case f.Think.Close == "":
						o.Thinking, o.MayThink = false, false
					case thinking && f.Think.Prompt != "":
						opt.Prompt = f.Think.Prompt
					case thinking:
						opt.Prompt = f.Think.Open[0]
					}
					if f.Primed != "" {
						o.Primed, opt.Prompt = true, f.Primed
					}
					g := withForm(t, f, special, o, words)
					for seed := range seeds(2) {
						text, got, ok := drawn(t, f, g, special, opt, seed+1)
						switch {
						case !ok:
						case len(got.Calls) > 0:
							if called++; got.Content != "" || tools == nil {
								t.Errorf("%s, %s, tokens %q: %q is read as %+v", form.name, name, special, text, got)
							}
						default:
							if answered++; !fits(got.Content) || !strings.HasSuffix(text, got.Content) {
								t.Errorf("%s, %s, tokens %q: %q has the content %q", form.name, name, special, text, got.Content)
							}
						}
						if got.Reasoning != "" {
							thought++
						}
					}
				}
			}
		}
		t.Logf("%s: %d answers, %d calls, %d with thinking", form.name, answered, called, thought)
		if least := 30 * int(seeds(2)); answered < least || called < least && form.tools != nil || thought < least {
			t.Errorf("%s: only %d answers, %d calls, %d with thinking", form.name, answered, called, thought)
		}
	}
}

// drawn is one reply and how it is read, in bytes as in longer pieces.
func drawn(t *testing.T, f *wire.Format, g *grammar.Grammar, special []string, opt wire.Options, x uint64) (text string, got wire.Reply, ended bool) {
	t.Helper()
	syntax := wire.NewSyntax(f, func(s string) bool { return slices.Contains(special, s) })
	r, whole := syntax.NewReader(opt), syntax.NewReader(opt)
	s := g.New()
	var events, longer []wire.Event
	piece := []byte{}
	x *= 0x9E3779B97F4A7C15
	var next choice
	for {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		if len(text) > 3000 {
			return text, got, false
		}
		if s.MayEnd() && x%4 == 0 {
			break
		}
		allowed, ends := next.of(t, s, 256+len(special), "</|>[]{}\"")
		if len(allowed) == 0 {
			if !s.MayEnd() {
				t.Fatalf("%s: nothing may follow %q", f.Name, text)
			}
			break
		}
		if len(ends) > 0 && x%4 > 1 {
			allowed = ends
		}
		id := allowed[x/8%uint64(len(allowed))]
		// Thinking would go on for ever, if it were drawn byte by byte.
		if end := f.Think.Close; len(allowed) > 100 && end != "" && !slices.Contains(special, end) && x%3 == 0 {
			ok := true
			for i := range len(end) {
				ok = ok && s.Accept(int32(end[i])) == nil
				if !ok {
					s.Rollback(i)
					break
				}
			}
			if ok {
				events, text, piece = append(events, r.Write([]byte(end))...), text+end, append(piece, end...)
				continue
			}
		}
		if err := s.Accept(id); err != nil {
			t.Fatal(err)
		}
		if id > 255 {
			longer = append(append(longer, whole.Write(piece)...), whole.Special(special[id-256])...)
			piece = piece[:0]
			events = append(events, r.Special(special[id-256])...)
			text += special[id-256]
		} else {
			piece = append(piece, byte(id))
			events = append(events, r.Write([]byte{byte(id)})...)
			text += string([]byte{byte(id)})
		}
	}
	longer = append(append(longer, whole.Write(piece)...), whole.Close()...)
	got = wire.Collect(append(events, r.Close()...))
	if other := wire.Collect(longer); other.Content != got.Content || other.Reasoning != got.Reasoning || len(other.Calls) != len(got.Calls) {
		t.Errorf("%s: %q is read as %+v, in pieces as %+v", f.Name, text, other, got)
	}
	return text, got, true
}

// TestFormed says what may be written where words are of a form.
func TestFormed(t *testing.T) {
	const call = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>"
	for _, tt := range []struct {
		name, format string
		o            Options
		special      []string
		pass, stop   []string
	}{
		{"no tools", "hermes-json", Options{MayThink: true, Form: wire.FormJSON}, nil,
			[]string{`{"a": 1}`, "\n\n{\"a\":2}", "<think>\nx</think>\n\n{\"a\":1}", "<think></think>{\"a\":1}"},
			[]string{"", "words", "<think>x", "<think>x</think>", "<think>x</think>words", "{\"a\":1}\n", "{\"a\":3}", call, "x</think>{\"a\":1}"}},
		{"auto", "hermes-json", Options{Tools: formTools, MayThink: true, Form: wire.FormJSON}, []string{"<tool_call>", "</tool_call>"},
			[]string{`{"a":1}`, call, "\n" + call + "\n" + call, "<think>x</think>{\"a\":1}", "<think>x</think>\n\n" + call},
			[]string{"", "words", "words " + call, `{"a":1}` + call, call + `{"a":1}`, call + " words", "<tool_call>"}},
		{"one call", "hermes-json", Options{Tools: formTools, Single: true, Form: wire.FormJSON}, nil, []string{call, `{"a":1}`}, []string{call + call, "<think>x</think>" + call}},
		{"thinking is open", "hermes-json", Options{Tools: formTools, Thinking: true, Form: wire.FormJSON}, nil,
			[]string{"x</think>{\"a\":1}", "</think>" + call, "so <tool_call> y</think>{\"a\":2}"}, []string{`{"a":1}`, call, "x", "<think>x</think>{\"a\":1}</think>"}},
		{"text", "hermes-json", Options{Tools: formTools, MayThink: true, Form: wire.FormText}, nil,
			[]string{`{"a":1}`, call, "<think>x</think>{\"a\":1}"}, []string{" {\"a\":1}", "\n" + call, "<think>x</think>\n{\"a\":1}"}},
		{"marks", "cohere-action", Options{Tools: formTools, MayThink: true, Form: wire.FormJSON}, []string{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
			[]string{`{"a":1}`, `<|START_RESPONSE|>{"a":1}`, `<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>{"a":1}`}, []string{`<|START_RESPONSE|>{"a":1}<|END_RESPONSE|>`, `<|START_TEXT|>{"a":1}`}},
		{"primed", "functionary-v3.2", Options{Tools: formTools, Primed: true, Form: wire.FormText}, nil,
			[]string{"all\n{\"a\":1}", "ping\n{}", "ping\n{}>>>ping\n{}"}, []string{`{"a":1}`, ">>>all\n{\"a\":1}", "all{\"a\":1}", ">>>ping\n{}"}},
		{"no marker", "llama3-json", Options{Tools: formTools, Form: wire.FormJSON}, nil,
			[]string{`{"a":1}`, `{"name": "ping", "parameters": {}}`, ` {"name": "ping", "parameters": {}}`}, []string{`{"name": "pong", "parameters": {}}`, "words"}},
		{"messages", "harmony", Options{Tools: formTools, MayThink: true, Form: wire.FormText}, []string{"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"},
			[]string{`<|channel|>final<|message|>{"a":1}`, `<|channel|>final <|constrain|>json<|message|>{"a":1}`,
				`<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>{"a":2}`,
				"<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary to=functions.ping<|message|>{}"},
			[]string{`{"a":1}`, `<|channel|>final<|message|>words`, `<|channel|>analysis<|message|>x`, `<|channel|>final<|message|>{"a":1}<|end|>`, `<|channel|>final<|message|> {"a":1}`}},
		{"messages, no thinking", "harmony", Options{Form: wire.FormText}, nil,
			[]string{`<|channel|>final<|message|>{"a":1}`}, []string{`<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>{"a":2}`}},
		{"messages, thinking is open", "harmony", Options{Thinking: true, MayThink: true, Form: wire.FormText}, nil,
			[]string{`x<|end|><|start|>assistant<|channel|>final<|message|>{"a":2}`}, []string{`<|channel|>final<|message|>{"a":1}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := wire.Find(tt.format)
			g := withForm(t, f, tt.special, tt.o, ofSchema(`{"type":"object","properties":{"a":{"enum":[1,2]}},"required":["a"],"additionalProperties":false}`))
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

// TestSecondMessage: in gpt-oss the token that ends a call ends the reply. Another call
// follows one that ends as other messages do, and no text spells the token.
func TestSecondMessage(t *testing.T) {
	f, _ := wire.Find("harmony")
	special := []string{"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"}
	const call = "<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{}"
	ends := func(text string) bool { return text == "<|call|>" || text == "<|return|>" }
	for _, tt := range []struct {
		name       string
		o          Options
		pass, stop []string
	}{
		{"any number", Options{Required: true}, []string{call, call + "<|end|>", call + "<|end|><|start|>assistant" + call}, []string{call + "<|call|>", call + "<|call|><|start|>assistant" + call, call + call}},
		{"one", Options{Required: true, Single: true}, []string{call}, []string{call + "<|end|><|start|>assistant" + call}},
		{"auto", Options{}, []string{"<|channel|>final<|message|>Hi, <|call|> and <|return|>", "<|channel|>commentary<|message|>I call.<|end|><|start|>assistant" + call + "<|end|><|start|>assistant" + call}, []string{call + "<|call|>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trie, token := vocabulary(t, special)
			b := grammar.NewBuilder(grammar.Limits{})
			tt.o.Tools, tt.o.Token, tt.o.Ends = formTools, token, ends
			root, _, err := Add(b, f, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			g, err := b.Compile(root, trie)
			if err != nil {
				t.Fatal(err)
			}
			syntax := wire.NewSyntax(f, func(s string) bool { return slices.Contains(special, s) || ends(s) })
			for _, text := range tt.pass {
				if !allows(g, text, special) {
					t.Errorf("%q is stopped", text)
				}
				r := syntax.NewReader(wire.Options{Prompt: f.Channel.Start, Tools: formTools})
				var events []wire.Event
				for rest := text; rest != ""; {
					if i := slices.IndexFunc(special, func(s string) bool { return strings.HasPrefix(rest, s) }); i >= 0 {
						events, rest = append(events, r.Special(special[i])...), rest[len(special[i]):]
						continue
					}
					events, rest = append(events, r.Write([]byte(rest[:1]))...), rest[1:]
				}
				if got := wire.Collect(append(events, r.Close()...)); len(got.Calls) != strings.Count(text, "to=functions") {
					t.Errorf("%q is read as %+v", text, got)
				}
			}
			for _, text := range tt.stop {
				if allows(g, text, special) {
					t.Errorf("%q passes", text)
				}
			}
		})
	}
}

// TestPrimed: where the prompt has begun a marker the reply goes on with it.
func TestPrimed(t *testing.T) {
	f, _ := wire.Find("functionary-v3.2")
	for _, tt := range []struct {
		o          Options
		pass, stop []string
	}{
		{Options{Required: true}, []string{"ping\n{}", "ping\n{}>>>ping\n{}"}, []string{">>>ping\n{}", "all\nHi", "\nping\n{}", "pong\n{}"}},
		{Options{Required: true, Single: true}, []string{"ping\n{}"}, []string{"ping\n{}>>>ping\n{}"}},
		{Options{}, []string{"all\nHi", "ping\n{}", "all\nHi>>>ping\n{}>>>ping\n{}"}, []string{"Hi", "pong\n{}", "all\nHi>>>pong\n{}", "ping\n{\"a\":1}"}},
		{Options{Single: true}, []string{"all\nHi>>>ping\n{}"}, []string{"all\nHi>>>ping\n{}>>>ping\n{}"}},
	} {
		tt.o.Tools, tt.o.Primed = formTools, true
		trie, _ := vocabulary(t, nil)
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
			if !allows(g, text, nil) {
				t.Errorf("%+v: %q is stopped", tt.o, text)
			}
			got := wire.Collect(wire.NewSyntax(f, nil).NewReader(wire.Options{Prompt: "x" + f.Primed, Tools: formTools}).Write([]byte(text + " ")))
			if len(got.Calls) < strings.Count(text, "ping")-1 || strings.Contains(got.Content, "ping") {
				t.Errorf("%q is read as %+v", text, got)
			}
		}
		for _, text := range tt.stop {
			if allows(g, text, nil) {
				t.Errorf("%+v: %q passes", tt.o, text)
			}
		}
	}
}
