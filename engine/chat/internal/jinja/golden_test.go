package jinja

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestGolden compares with what Jinja itself printed or raised for the
// snippets of testdata/make_golden.py.
func TestGolden(t *testing.T) {
	var golden struct {
		Vars json.RawMessage
		Rows []struct {
			Template      string
			Output, Error *string
		}
	}
	readJSON(t, "testdata/golden.json", &golden)
	now := func() time.Time { return time.Date(2026, 1, 15, 10, 30, 5, 123456000, time.UTC) }
	for _, row := range golden.Rows {
		t.Run(row.Template, func(t *testing.T) {
			vars, err := FromJSON(golden.Vars, Outside)
			if err != nil {
				t.Fatal(err)
			}
			var got Str
			tmpl, err := Parse(row.Template)
			if err == nil {
				got, err = tmpl.Render(vars.(*Dict), Options{Now: now})
			}
			if row.Output != nil {
				if err != nil || got.String() != *row.Output {
					t.Errorf("got %q, %v\nwant %q", got, err, *row.Output)
				}
				return
			}
			if err == nil {
				t.Fatalf("got %q, want error %s", got, *row.Error)
			}
			kind, _, _ := strings.Cut(*row.Error, ":")
			if !sameKind(err, kind) {
				t.Errorf("got error %s\nwant %s", describe(err), *row.Error)
			}
		})
	}
}

// sameKind reports whether err is what Jinja calls kind. Where Jinja fails by
// looking for other templates we refuse while parsing, and where Python runs
// out of room we name the limit.
func sameKind(err error, kind string) bool {
	switch kind {
	case "TemplateSyntaxError", "TemplateAssertionError", "SyntaxError":
		var e *SyntaxError
		return errors.As(err, &e)
	case "OverflowError":
		if errors.Is(err, ErrLimit) {
			return true
		}
	}
	if errors.Is(err, ErrUnsupported) {
		return kind == "TypeError" && strings.Contains(err.Error(), "tag")
	}
	return strings.HasPrefix(describe(err), kind+":")
}
