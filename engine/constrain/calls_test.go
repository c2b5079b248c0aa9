package constrain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/token"
	"quern/engine/wire"
	"quern/engine/wire/rules"
)

// markedVocab has one token a byte, <tool_call> and </tool_call> as tokens that users of
// the vocabulary defined, and <end>.
func markedVocab(t *testing.T) *token.Vocab {
	t.Helper()
	s := token.Spec{Model: "llama", Ending: []token.ID{258}}
	for i := range 256 {
		s.Tokens = append(s.Tokens, fmt.Sprintf("<0x%02X>", i))
		s.Kinds = append(s.Kinds, token.Byte)
	}
	s.Tokens = append(s.Tokens, "<tool_call>", "</tool_call>", "<end>")
	s.Kinds = append(s.Kinds, token.UserDefined, token.UserDefined, token.Control)
	s.Scores = make([]float32, len(s.Tokens))
	v, err := token.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func callsOf(v *token.Vocab, format string, required bool, tools ...wire.Tool) *Calls {
	f, _ := wire.Find(format)
	k := &Calls{Format: f, Options: rules.Options{Tools: tools, Required: required, Name: "calls"}}
	k.Token = func(text string) (int32, bool) {
		id, ok := v.Lookup(text)
		return id, ok && v.Kind(id) == token.UserDefined
	}
	for i := range tools {
		k.Places = append(k.Places, Place{Param: fmt.Sprintf("tools[%d].function.parameters", i)})
	}
	return k
}

// Words go on for as long as a context is, and never hold what would be a call: the
// marker's token begins one.
func TestWordsUnderTools(t *testing.T) {
	v := markedVocab(t)
	c := New(v, 256, 257)
	g, err := c.Calls(t.Context(), callsOf(v, "hermes-json", false, wire.Tool{Name: "f"}))
	if err != nil {
		t.Fatal(err)
	}
	m := g.Mask()
	text := strings.Repeat("Words, \"quoted\" {and} <tagged>\n", 4000)
	for i := range len(text) {
		if i%512 == 0 {
			if bits, err := m.Bits(); err != nil || bits[8]&1 == 0 {
				t.Fatalf("after %d bytes: a call may not begin: %v", i, err)
			}
		}
		if err := m.Accept(token.ID(text[i])); err != nil {
			t.Fatalf("after %d bytes: %v", i, err)
		}
	}
	if !m.MayEnd() || !m.Allows(256) || m.Allows(257) {
		t.Errorf("at the end: may end %v, may call %v, may close a call %v", m.MayEnd(), m.Allows(256), m.Allows(257))
	}
	if err := m.Accept(256); err != nil {
		t.Fatal(err)
	}
	for i, b := range []byte("\n{\"name\": \"f\"") {
		if !m.Allows(token.ID(b)) || m.MayEnd() || i > 1 && m.Allows('x') && b != 'f' {
			t.Fatalf("at byte %d of a call", i)
		}
		if err := m.Accept(token.ID(b)); err != nil {
			t.Fatal(err)
		}
	}
}

// One grammar serves all that ask the same, and no other.
func TestCallsAreCached(t *testing.T) {
	v := markedVocab(t)
	c := New(v, 256, 257)
	seen := map[*Grammar]string{}
	for name, k := range map[string]*Calls{
		"auto":     callsOf(v, "hermes-json", false, wire.Tool{Name: "f"}),
		"required": callsOf(v, "hermes-json", true, wire.Tool{Name: "f"}),
		"other":    callsOf(v, "hermes-json", true, wire.Tool{Name: "g"}),
		"schema":   callsOf(v, "hermes-json", true, wire.Tool{Name: "g", Parameters: json.RawMessage(`{"type":"object"}`)}),
		"format":   callsOf(v, "glm-xml", true, wire.Tool{Name: "f"}),
	} {
		g, err := c.Calls(t.Context(), k)
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := c.Calls(t.Context(), k)
		if err != nil || again != g || seen[g] != "" {
			t.Errorf("%s: %v; again %v, like %q", name, err, again == g, seen[g])
		}
		seen[g] = name
	}
}

// A schema that cannot be kept is named by its place in the request, and a format without
// calls by its name.
func TestCallsRefused(t *testing.T) {
	v := markedVocab(t)
	c := New(v)
	good := wire.Tool{Name: "good", Parameters: json.RawMessage(`{"type":"object"}`)}
	for _, tt := range []struct {
		k     *Calls
		code  engine.Code
		param string
	}{
		{callsOf(v, "hermes-json", true, good, wire.Tool{Name: "f", Parameters: json.RawMessage(`{"properties":{"a":{"type":"no"}}}`)}), engine.CodeInvalidSchema, "tools[1].function.parameters/properties/a/type"},
		{callsOf(v, "hermes-json", true, wire.Tool{Name: "f", Parameters: json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", maxSource) + `"}`)}), engine.CodeInvalidSchema, "tools"},
		{callsOf(v, "none", true, good), engine.CodeToolFormat, "tools"},
	} {
		_, err := c.Calls(t.Context(), tt.k)
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Param != tt.param || len(e.Message) > 1000 {
			t.Errorf("got %+v, want %s of %s", err, tt.code, tt.param)
		}
	}
}

// What each format writes of two calls passes its grammar, and a tool that does not exist
// does not.
func TestCallsOfEveryFormat(t *testing.T) {
	v := markedVocab(t)
	tried := 0
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		tool := wire.Tool{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)}
		id := ""
		switch {
		case f.ID == wire.IDNamed:
			id = "functions.get_weather:0"
		case name == "cohere-cofl":
			id = "0"
		}
		good, err := f.Write([]wire.Call{{ID: id, Name: "get_weather", Arguments: `{"city":"Oslo"}`}})
		if err != nil {
			continue
		}
		k := callsOf(v, name, true, tool)
		k.Token = nil
		g, err := New(v).Calls(t.Context(), k)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		passes := func(text string) (bool, int) {
			m := g.Mask()
			for i := range len(text) {
				if m.Accept(token.ID(text[i])) != nil {
					return false, i
				}
			}
			return m.MayEnd(), len(text)
		}
		if ok, at := passes(good); !ok {
			t.Errorf("%s: barred at %d: %q", name, at, good[:at])
		}
		for _, bad := range []string{
			strings.ReplaceAll(good, "get_weather", "get_other"), strings.ReplaceAll(good, "city", "town"), "Words.", "",
		} {
			if ok, _ := passes(bad); ok {
				t.Errorf("%s: lets pass %q", name, bad)
			}
		}
		tried++
	}
	if tried < 35 {
		t.Errorf("only %d formats", tried)
	}
}
