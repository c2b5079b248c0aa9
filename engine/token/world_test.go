package token_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
	"quern/formats/weights"
)

// worldLines is a vocabulary as RWKV's models have it beside them: all bytes, some words,
// tokens with quotes and of half a character.
func worldLines() (lines []string, texts []string) {
	add := func(literal, text string) {
		texts = append(texts, text)
		lines = append(lines, fmt.Sprintf("%d %s %d", len(texts), literal, len(text)))
	}
	for b := range 256 {
		switch {
		case b >= 0x80:
			add(fmt.Sprintf(`b'\x%02x'`, b), string([]byte{byte(b)}))
		case b < ' ' || b == 0x7f:
			add(fmt.Sprintf(`'\x%02x'`, b), string(rune(b)))
		case b == '\'':
			add(`"'"`, "'")
		case b == '\\':
			add(`'\\'`, `\`)
		default:
			add("'"+string(rune(b))+"'", string(rune(b)))
		}
	}
	add(`'\t\t'`, "\t\t")
	add(`'\n\n'`, "\n\n")
	add(`'\r\n'`, "\r\n")
	add(`' the'`, " the")
	add(`' there'`, " there")
	add(`' x y'`, " x y")
	add(`'é'`, "é")
	add(`'\u6f22'`, "漢")
	add(`b'\xe6\xbc'`, "\xe6\xbc")
	add(`'\'"'`, `'"`)
	add(`"'s"`, "'s")
	add(`'\\x41'`, `\x41`)
	add(`'\xe9t'`, "ét")
	add(`'\U0001f600'`, "😀")
	return lines, texts
}

func worldSpec(t *testing.T, lines []string, more map[string]string) token.Spec {
	t.Helper()
	var m weights.Meta
	m.Set("hf.rwkv_vocab", strings.Join(lines, "\n")+"\n")
	for k, v := range more {
		m.Set(k, v)
	}
	s, err := token.FromHF(&m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The longest token at each place is taken, of bytes; what is written is read back.
func TestWorld(t *testing.T) {
	lines, texts := worldLines()
	v, err := token.New(worldSpec(t, lines, nil))
	if err != nil {
		t.Fatal(err)
	}
	id := func(text string) token.ID { return token.ID(slices.Index(texts, text) + 1) }
	for text, want := range map[string][]token.ID{
		"":               {},
		" the there":     {id(" the"), id(" there")},
		" ther":          {id(" the"), id("r")},
		"\t\t\t\n\n\r\n": {id("\t\t"), id("\t"), id("\n\n"), id("\r\n")},
		"ét é":           {id("ét"), id(" "), id("é")},
		"漢\xe6\xbcx":     {id("漢"), id("\xe6\xbc"), id("x")},
		`'"'s`:           {id(`'"`), id("'s")},
		`\x41A`:          {id(`\x41`), id("A")},
		"<s>":            {id("<"), id("s"), id(">")},
		" x y\x00\xff 😀": {id(" x y"), id("\x00"), id("\xff"), id(" "), id("😀")},
	} {
		got := v.Encode(nil, text, false)
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
		var back []byte
		for _, id := range got {
			back = append(back, v.Bytes(id)...)
		}
		if string(back) != text {
			t.Errorf("%q comes back as %q", text, back)
		}
		if n := v.LeastTokens(text); n > len(got) {
			t.Errorf("%q is %d tokens, at least %d are promised", text, len(got), n)
		}
	}
	if got := v.Encode(nil, "<s>", true); !slices.Equal(got, []token.ID{0}) {
		t.Errorf("the control token is %v", got)
	}
	if !v.Ends(0) || !v.Ends(id("\n\n")) || v.Ends(id("\n")) || v.AddBOS() || v.AddEOS() {
		t.Error("what ends a text is not token 0 and an empty line, or something is added")
	}
}

// What GGUF files say of the same vocabulary gives the same tokens.
func TestWorldGGUF(t *testing.T) {
	lines, texts := worldLines()
	var from weights.Meta
	from.Set("hf.rwkv_vocab", strings.Join(lines, "\n"))
	m, err := token.ToGGUF(&from, len(texts)+4)
	if err != nil {
		t.Fatal(err)
	}
	if model := m.String("tokenizer.ggml.model"); model != "rwkv" {
		t.Errorf("model %q", model)
	}
	tokens, _ := m.Lookup("tokenizer.ggml.tokens")
	for text, want := range map[string]string{"\n\n": `\n\n`, "漢": `\xe6\xbc\xa2`, `'"`: `\'"`, `\`: `\\`, "'s": "'s", "\x7f": `\x7f`} {
		if got := tokens.([]string)[slices.Index(texts, text)+1]; got != want {
			t.Errorf("%q is spelled %s, want %s", text, got, want)
		}
	}
	s, err := token.FromGGUF(m)
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.New(s)
	if err != nil {
		t.Fatal(err)
	}
	own, err := token.New(worldSpec(t, lines, nil))
	if err != nil {
		t.Fatal(err)
	}
	text := "The there\t\t\r\n\n\n 漢\xe6\xbc é'\"'s \\x41 [PAD270] <s>😀"
	if got, want := v.Encode(nil, text, false), own.Encode(nil, text, false); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if eot := v.Special(token.EOT); v.Special(token.EOS) != 0 || texts[eot-1] != "\n\n" || v.AddBOS() {
		t.Errorf("EOS is %d, EOT %d", v.Special(token.EOS), eot)
	}
}

// Vocabularies that contradict themselves are refused with the line.
func TestWorldRefused(t *testing.T) {
	lines, _ := worldLines()
	for line, want := range map[string]string{
		"1 'a' 2":                    "no token of the length it says",
		"2 'a' 1":                    "token 2, want 1",
		"1 'a":                       "want a number",
		"1 a 1":                      "no token",
		"1 'a'b' 3":                  "no token",
		`1 '\x4' 1`:                  "no token",
		`1 b'\u0041' 1`:              "no token",
		`1 '\ud800' 3`:               "no token",
		"1 '' 0":                     "no token",
		"one 'a' 1":                  "token one, want 1",
		"":                           "want a number",
		`1 'a' 1` + "\n" + `2 "a" 1`: "tokens 1 and 2 are both",
	} {
		var m weights.Meta
		m.Set("hf.rwkv_vocab", line+"\n")
		s, err := token.FromHF(&m)
		if err == nil {
			_, err = token.New(s)
		}
		if !errors.Is(err, token.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %q", line, err, want)
		}
	}
	for _, text := range []string{`a\`, `\x4`, `\xg0`} {
		s := worldSpec(t, lines, nil)
		s.Tokens[3] = text
		if _, err := token.New(s); !errors.Is(err, token.ErrFormat) || !strings.Contains(err.Error(), "token 3") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// What config.json names as the end of a text counts as well.
func TestWorldEnds(t *testing.T) {
	lines, _ := worldLines()
	v, err := token.New(worldSpec(t, lines, map[string]string{"hf.generation_config": `{"eos_token_id":[0,24]}`}))
	if err != nil {
		t.Fatal(err)
	}
	if !v.Ends(0) || !v.Ends(24) {
		t.Errorf("texts end with %v", v.Ending())
	}
}

// FuzzWorld reads vocabularies of any lines: what tokens stand for is in the text, in order.
func FuzzWorld(f *testing.F) {
	lines, _ := worldLines()
	f.Add(strings.Join(lines, "\n"), "the \xff é")
	f.Add("1 b'\\xff\\x00' 2\n2 \"it's\" 4\n", "it's\xff\x00")
	f.Add("1 '\\u6f22' 3\r\n", "漢")
	f.Fuzz(func(t *testing.T, vocab, text string) {
		var m weights.Meta
		m.Set("hf.rwkv_vocab", vocab)
		s, err := token.FromHF(&m)
		var v *token.Vocab
		if err == nil {
			v, err = token.New(s)
		}
		if err != nil {
			if !errors.Is(err, token.ErrFormat) {
				t.Fatalf("%v wraps no sentinel", err)
			}
			return
		}
		var back []byte
		for _, id := range v.Encode(nil, text, false) {
			back = append(back, v.Bytes(id)...)
		}
		for i := range len(text) {
			if len(back) > 0 && text[i] == back[0] {
				back = back[1:]
			}
		}
		if len(back) > 0 {
			t.Errorf("%q encodes to bytes that are not in it", text)
		}
	})
}
