package body

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: what is no JSON object is refused, and the members and items of one are
// those encoding/json finds, down to the innermost.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, "\xef\xbb\xbf{\"a\":1}", `{"a":1,"a":2}`, `{"a\"b" : "c\\" , "d,e":[1,[2,"]"],{"x":{}}]}`, `{"\u0061":null}`,
		`{"a":[ ]}`, `{"a":"\ud800","":[[],[[]]]}`, `{"a":[1 , 2]}` + "\n", `[]`, `"{}"`, `{"a":}`, `null`, ``, "\xff", `{"a" :{"b": [ true,false , null ]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Parse(slices.Clone(b))
		var want map[string]json.RawMessage
		bare := bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
		if bad := json.Unmarshal(bare, &want); bad != nil || want == nil {
			if err == nil {
				t.Fatalf("%q is accepted: %v", b, bad)
			}
			return
		}
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") {
				return
			}
			t.Fatalf("%q: %v", b, err)
		}
		same(t, o, want)
	})
}

// same compares an object with what encoding/json makes of it.
func same(t *testing.T, o *Object, want map[string]json.RawMessage) {
	for v := range o.Members() {
		if _, ok := want[v.Name]; !ok {
			t.Fatalf("%q has no member %q", o.Raw, v.Name)
		}
	}
	for name, raw := range want {
		got, _ := o.Sent(name)
		if !bytes.Equal(got, raw) {
			t.Fatalf("member %q of %q is %q, want %q", name, o.Raw, got, raw)
		}
		sameValue(t, o.member(name, got), raw)
	}
}

func sameValue(t *testing.T, v Value, raw json.RawMessage) {
	switch v.Kind() {
	case '{':
		var want map[string]json.RawMessage
		json.Unmarshal(raw, &want)
		if o := v.Object(); o != nil {
			same(t, o, want)
		}
	case '[':
		var want []json.RawMessage
		json.Unmarshal(raw, &want)
		n := 0
		for item := range v.Items() {
			if n >= len(want) || !bytes.Equal(item.Raw, want[n]) {
				t.Fatalf("item %d of %q is %q, want %q", n, raw, item.Raw, want)
			}
			sameValue(t, item, want[n])
			n++
		}
		if v.Ok() && n != len(want) || v.Count(1<<30) != len(want) {
			t.Fatalf("%d items and a count of %d in %q, want %d", n, v.Count(1<<30), raw, len(want))
		}
	case '"':
		var want string
		json.Unmarshal(raw, &want)
		if got := v.Str(); got != want {
			t.Fatalf("%q says %q, want %q", raw, got, want)
		}
	}
}

// TestParseErrors: the error names the byte at which a body breaks, counted from its first.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"  {x":            "at byte 4",
		"{\"a\":1}  }":    "at byte 10",
		" \n":             "is empty",
		" [1]":            "got an array",
		"null":            "got null",
		`"a"`:             "got a string",
		"{\"a\":\"\xff\"": "UTF-8",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestStraysAreNamedOnce: a field that comes twice is named once.
func TestStraysAreNamedOnce(t *testing.T) {
	o, err := Parse([]byte(`{"modle":1,"a":{"x":1},"modle":2}`))
	if err != nil {
		t.Fatal(err)
	}
	o.Str("model")
	o.Object("a").Str("xy")
	want := []Stray{{"modle", "model"}, {"a.x", ""}}
	if got := o.Strays(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
