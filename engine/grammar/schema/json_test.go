package schema

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/grammar"
)

// anyJSON is the grammar of any value, or of any object.
func anyJSON(t *testing.T, add func(*grammar.Builder, string) *grammar.Node) *grammar.Grammar {
	b := grammar.NewBuilder(grammar.Limits{})
	g, err := b.Compile(add(b, "json"), byteTrie(t))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// anyValue adds any value.
func anyValue(b *grammar.Builder, name string) *grammar.Node {
	n, _, err := Add(b, []byte("true"), Options{Name: name})
	if err != nil {
		panic(err)
	}
	return n
}

// TestJSONText: of the texts of JSONTestSuite (Seriot, MIT) those that are no JSON are
// refused, and those that are JSON pass, but for their white space.
func TestJSONText(t *testing.T) {
	g := anyJSON(t, anyValue)
	f, err := os.Open(fixtures.Path(t, "grammars", "jsontext.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 4<<20)
	n := 0
	for ; in.Scan(); n++ {
		var x struct {
			ID, Text string
			Valid    *bool
			Bytes    []byte `json:"bytes64"`
		}
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		text := x.Text
		if x.Bytes != nil {
			text = string(x.Bytes)
		}
		if x.Valid == nil {
			continue
		}
		err := reach(g, text)
		switch spaced := text != strings.TrimSpace(text) || strings.Contains(text, "\t") || strings.Contains(text, "  "); {
		case err == nil && !*x.Valid:
			t.Errorf("%s: %.100q is not JSON, but passes", x.ID, text)
		case err != nil && *x.Valid && !spaced:
			t.Errorf("%s: %.100q is JSON, but is refused: %.200v", x.ID, text, err)
		}
	}
	if err := in.Err(); err != nil || n < 300 {
		t.Fatalf("%d texts, %v", n, err)
	}
}

// TestJSONObject: the texts of json_object mode.
func TestJSONObject(t *testing.T) {
	value, object := anyJSON(t, anyValue), anyJSON(t, AddObject)
	raw, err := os.ReadFile(fixtures.Path(t, "grammars", "json.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var x struct{ Accept, Reject []string }
	if err := json.Unmarshal(raw, &x); err != nil {
		t.Fatal(err)
	}
	if len(x.Accept) == 0 || len(x.Reject) == 0 {
		t.Fatal("no texts")
	}
	for _, s := range x.Accept {
		if err := reach(value, s); err != nil {
			t.Errorf("%.100q is refused: %v", s, err)
		}
		if err := reach(object, s); (err == nil) != strings.HasPrefix(s, "{") {
			t.Errorf("%.100q as an object: %v", s, err)
		}
	}
	for _, s := range x.Reject {
		if reach(value, s) == nil {
			t.Errorf("%.100q passes", s)
		}
	}
}
