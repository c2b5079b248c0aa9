package jinja

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
)

// secret is a character of the Private Use Area: no operation changes it, and
// nothing but a variable or a few escapes can bring it into the output.
const secret = "\ue000"

// FuzzRender checks that no template panics or hangs, that errors wrap a
// sentinel, and that text from outside never loses its mark.
func FuzzRender(f *testing.F) {
	var golden struct{ Rows []struct{ Template string } }
	readJSON(f, "testdata/golden.json", &golden)
	for _, row := range golden.Rows {
		f.Add(row.Template)
	}
	f.Add("{% for m in messages %}{{ '<|' + m.role + '|>' + m.content|trim }}{% endfor %}")
	vars := secretVars(f)
	f.Fuzz(func(t *testing.T, src string) {
		tmpl, err := Parse(src)
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrLimit) {
				t.Fatalf("Parse: %v wraps no sentinel", err)
			}
			return
		}
		out, err := tmpl.Render(vars, Options{Now: fixedNow, MaxSteps: 20_000, MaxOutput: 1 << 18, MaxMemory: 1 << 22})
		if err != nil {
			if !errors.Is(err, ErrRuntime) && !errors.Is(err, ErrLimit) {
				t.Fatalf("Render: %v wraps no sentinel", err)
			}
			return
		}
		checkMarks(t, out)
		if strings.Contains(src, `\`) || strings.Contains(src, secret) || strings.Contains(src, "&#") {
			return // may spell the secret itself
		}
		checkSecret(t, out)
	})
}

// secretVars are the variables of a conversation in which every client string
// is full of secrets.
func secretVars(t testing.TB) *Dict {
	v, err := FromJSON([]byte(strings.ReplaceAll(`{
		"s": "§<|im_start|>§ a,b c\n§d ", "n": 7, "f": 2.5, "yes": true, "nil": null,
		"list": ["§x", "y§", 3], "d": {"§k": "§v", "items": "§"},
		"messages": [{"role": "user", "content": " §hi§ "}, {"role": "assistant", "content": "§", "tool_calls": [{"id": "§", "function": {"name": "§f", "arguments": {"§": ["§"]}}}]}],
		"people": [{"name": "§Ann", "age": 30}, {"name": "bob§", "age": 25}]
	}`, "§", secret)), Outside)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*Dict)
}

// checkMarks fails unless the marks of s are sorted, disjoint and inside it.
func checkMarks(t *testing.T, s Str) {
	t.Helper()
	at := 0
	for _, m := range s.Marks() {
		if m.From < at || m.To <= m.From || m.To > len(s.s) || m.Origin == trusted {
			t.Fatalf("marks %v of %d bytes", s.Marks(), len(s.s))
		}
		at = m.To
	}
}

// checkSecret fails if a secret is outside the marks of s.
func checkSecret(t *testing.T, s Str) {
	t.Helper()
	at := 0
	for _, m := range append(s.Marks()[:len(s.Marks()):len(s.Marks())], Span{From: len(s.s), To: len(s.s)}) {
		if strings.Contains(s.s[at:m.From], secret) {
			t.Fatalf("unmarked secret in %q, marks %v", s.s, s.Marks())
		}
		at = m.To
	}
}

// TestSecrets runs every golden snippet over variables full of secrets.
func TestSecrets(t *testing.T) {
	var golden struct {
		Vars json.RawMessage
		Rows []struct{ Template string }
	}
	readJSON(t, "testdata/golden.json", &golden)
	var plain map[string]any
	if err := json.Unmarshal(golden.Vars, &plain); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(stain(plain))
	if err != nil {
		t.Fatal(err)
	}
	vars, err := FromJSON(data, Outside)
	if err != nil {
		t.Fatal(err)
	}
	rendered := 0
	for _, row := range golden.Rows {
		tmpl, err := Parse(row.Template)
		if err != nil {
			continue
		}
		out, err := tmpl.Render(vars.(*Dict), Options{Now: fixedNow})
		if err != nil {
			continue
		}
		rendered++
		checkMarks(t, out)
		checkSecret(t, out)
		if t.Failed() {
			t.Fatalf("template %q", row.Template)
		}
	}
	if rendered < 700 {
		t.Errorf("only %d snippets rendered", rendered)
	}
}

// stain puts secrets into every string value.
func stain(v any) any {
	switch v := v.(type) {
	case string:
		return secret + v + secret
	case []any:
		for i := range v {
			v[i] = stain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = stain(v[k])
		}
	}
	return v
}

// FuzzFromJSON checks that anything accepted can be printed and read back.
func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.5, "x", null, true]}`, `1e999`, `"\ud83d\ude00"`, `[[[[]]]]`, `{"a":1,"a":2}`, `-0.0`} {
		f.Add([]byte(s))
	}
	tmpl, err := Parse("{{ v|tojson }}")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := FromJSON(data, Outside)
		if err != nil {
			if !errors.Is(err, ErrJSON) && !errors.Is(err, ErrLimit) {
				t.Fatalf("%v wraps no sentinel", err)
			}
			return
		}
		out, err := tmpl.Render(NewDict().Set("v", v), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.s, "Infinity") { // not JSON, though Python writes it
			return
		}
		again, err := FromJSON([]byte(out.s), Outside)
		if err != nil {
			t.Fatalf("reading back %q: %v", out.s, err)
		}
		if out2, err := tmpl.Render(NewDict().Set("v", again), Options{}); err != nil || out2.s != out.s {
			t.Fatalf("%q became %q, %v", out.s, out2.s, err)
		}
	})
}

// TestConcurrent renders one template from many goroutines with shared
// variables.
func TestConcurrent(t *testing.T) {
	tmpl, err := Parse("{% set ns = namespace(n=0) %}{% macro m(x) %}<{{ x|upper }}>{% endmacro %}" +
		"{% for p in people %}{% set ns.n = ns.n + p.age %}{{ m(p.name) }}{{ loop.index }}{% endfor %}{{ ns.n }}{{ d|tojson }}{{ d|length }}")
	if err != nil {
		t.Fatal(err)
	}
	vars := secretVars(t)
	want, err := tmpl.Render(vars, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := tmpl.Render(vars, Options{})
				if err != nil || got.s != want.s {
					t.Errorf("got %q, %v; want %q", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
