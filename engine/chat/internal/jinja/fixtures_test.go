package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quern/bench/fixtures"
)

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func fixedNow() time.Time { return time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC) }

// TestRealTemplates renders every collected template with every conversation
// and compares with what Jinja printed or raised.
func TestRealTemplates(t *testing.T) {
	dir := fixtures.Path(t, "chat_templates")
	var cases map[string]json.RawMessage
	readJSON(t, filepath.Join(dir, "cases.json"), &cases)
	var goldens []struct {
		Template, Case string
		Output, Error  *string
	}
	readJSON(t, filepath.Join(dir, "golden.json"), &goldens)
	parsed := make(map[string]*Template)
	texts, refusals := 0, 0
	for _, g := range goldens {
		t.Run(g.Template+"/"+g.Case, func(t *testing.T) {
			tmpl := parsed[g.Template]
			if tmpl == nil {
				src, err := os.ReadFile(filepath.Join(dir, "templates", g.Template))
				if err != nil {
					t.Fatal(err)
				}
				if tmpl, err = Parse(string(src)); err != nil {
					t.Fatal(err)
				}
				parsed[g.Template] = tmpl
			}
			vars, err := FromJSON(cases[g.Case], Outside)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render(vars.(*Dict), Options{Now: fixedNow})
			if g.Output != nil {
				texts++
				if err != nil || got.String() != *g.Output {
					t.Errorf("got %q, %v\nwant %q", got, err, *g.Output)
				}
				return
			}
			refusals++
			if err == nil {
				t.Fatalf("got %q, want error %s", got, *g.Error)
			}
			if text := describe(err); text != *g.Error {
				t.Errorf("got error %s\nwant %s", text, *g.Error)
			}
		})
	}
	t.Logf("%d renderings, %d refusals", texts, refusals)
}

// describe spells an error as Python would: class and message.
func describe(err error) string {
	var raised *RaiseError
	var rt *RuntimeError
	var syn *SyntaxError
	switch {
	case errors.As(err, &raised):
		return "TemplateError: " + raised.Message
	case errors.As(err, &rt):
		return rt.Kind + ": " + rt.Message
	case errors.As(err, &syn):
		return "TemplateSyntaxError: " + syn.Message
	}
	return "limit: " + strings.TrimPrefix(err.Error(), ErrLimit.Error()+": ")
}

// FromJSON is ReadJSON of bytes.
func FromJSON(data []byte, origin Origin) (Value, error) {
	return ReadJSON(bytes.NewReader(data), origin)
}
