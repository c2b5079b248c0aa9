package wire

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// shapes are the formats by the way they write calls.
func shapes() map[string][]*Format {
	out := map[string][]*Format{}
	for i := range formats {
		f := &formats[i]
		shape := "object"
		switch {
		case f.Channel != nil:
			shape = "channel"
		case f.Name == "none":
			shape = "named"
		default:
			for _, e := range f.Call[0].Elements() {
				switch e.Kind {
				case Params:
					shape = "tags"
				case Args:
					shape = "named"
				case Calls, List:
					shape = "python"
				}
			}
		}
		out[shape] = append(out[shape], f)
	}
	return out
}

func FuzzObject(f *testing.F)  { fuzzShape(f, "object") }
func FuzzNamed(f *testing.F)   { fuzzShape(f, "named") }
func FuzzTags(f *testing.F)    { fuzzShape(f, "tags") }
func FuzzPython(f *testing.F)  { fuzzShape(f, "python") }
func FuzzChannel(f *testing.F) { fuzzShape(f, "channel") }

// fuzzTools have every kind of argument.
var fuzzTools = []Tool{
	{"f", json.RawMessage(`{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"array","items":{"type":"object"}},"d":{"type":["string","object"]}}}`)},
	{"get_weather", json.RawMessage(`{"properties":{"city":{"type":"string"}}}`)},
	{"g", nil},
}

// fuzzShape reads any text in the formats of a shape. However it is cut the
// reply is the same; whole arguments are objects; nothing comes out that did
// not go in.
func fuzzShape(f *testing.F, shape string) {
	list := shapes()[shape]
	calls := []Call{
		{"123456789", "f", `{"a": "x<y\n", "b": 3, "c": [{"k": []}], "d": {"e": null}}`},
		{"987654321", "g", `{}`},
	}
	for i, row := range list {
		text, err := row.Write(calls)
		if err != nil {
			text = "words"
		}
		for form := range uint8(3) {
			f.Add(uint8(i), form<<5+7, text)
			f.Add(uint8(i), form<<5+2, `{"a": "`+text+`"}`)
		}
		for _, open := range row.Think.Open {
			f.Add(uint8(i), uint8(3), open+"thinking"+row.Think.Close+" words "+text+" words")
		}
		f.Add(uint8(i), uint8(1), text[:len(text)/2]+"\xff"+text[len(text)/2:])
	}
	f.Fuzz(func(t *testing.T, which, step uint8, text string) {
		row := list[int(which)%len(list)]
		special := func(s string) bool {
			return len(s) > 4 && s[0] == '<' && s[len(s)-1] == '>' && strings.Count(s, "<") == 1
		}
		if which < 128 {
			special = nil
		}
		syntax := NewSyntax(row, special)
		opt := Options{Tools: fuzzTools, JSON: step%5 == 0, Random: func() uint64 { return 7 }}
		opt.Form, opt.NoThinking = Form(step>>5%3), step>>5 > 5
		if step%3 == 0 {
			opt.Prompt = slices.Concat(row.Think.Open, []string{"x"})[0]
		}
		if step%4 == 0 {
			opt.Tools = nil
		}
		// Special tokens come as such where the vocabulary has them.
		var whole []token
		for rest := text; rest != ""; {
			n := 1
			for n < len(rest) && rest[n] != '<' {
				n++
			}
			tag := rest[:n]
			if i := strings.IndexByte(tag, '>'); special != nil && i > 0 && special(tag[:i+1]) {
				whole = append(whole, token{tag[:i+1], true})
				n = i + 1
			} else {
				whole = append(whole, token{tag, false})
			}
			rest = rest[n:]
		}
		var pieces []token
		for _, p := range whole {
			for p.text != "" && !p.special {
				n := min(int(step)%9+1, len(p.text))
				pieces = append(pieces, token{p.text[:n], false})
				p.text = p.text[n:]
			}
			if p.special {
				pieces = append(pieces, p)
			}
		}
		a := joined(feed(t, syntax.NewReader(opt), whole))
		b := joined(feed(t, syntax.NewReader(opt), pieces))
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s: %q is read as\n%+v\nand in pieces as\n%+v", row.Name, text, a, b)
		}
		size := 0
		for _, e := range a {
			size += len(e.Text)
			if !utf8.ValidString(e.Name) || len(e.Name) > MaxName {
				t.Errorf("name %q", e.Name)
			}
		}
		if size > 7*len(text)+16*len(a) {
			t.Errorf("%s: %d bytes came out of %d", row.Name, size, len(text))
		}
		for _, c := range Collect(a).Calls {
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
				t.Fatalf("%s: %q has arguments %q: %v", row.Name, text, c.Arguments, err)
			}
		}
	})
}
