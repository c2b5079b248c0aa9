package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/grammar"
)

// full runs every schema of the fixtures; without it the tests take a part of them.
var full = flag.Bool("full", false, "run all schemas of the fixtures, not one in sixteen")

// skips says that the schema number i waits for -full.
func skips(i int) bool { return !*full && i%16 != 0 }

// A fixture is one line of shared/fixtures/schemas.
type fixture struct {
	ID       string
	Kind     string // of refuse.jsonl
	At       *string
	Keyword  string
	Keywords []string
	Formats  []string
	Schema   json.RawMessage
	Remote   bool
	Tests    []instance
}

type instance struct {
	Valid bool
	Data  json.RawMessage
	Text  *string
	Order *bool
	Why   []string
}

// byteTrie is a vocabulary of all bytes; 256 ends the text.
func byteTrie(t testing.TB) *grammar.Trie {
	v := grammar.Vocab{EOG: []int32{256}}
	for b := range 256 {
		v.Bytes = append(v.Bytes, []byte{byte(b)})
	}
	v.Bytes = append(v.Bytes, nil)
	trie, err := grammar.NewTrie(v)
	if err != nil {
		t.Fatal(err)
	}
	return trie
}

func readFixtures(t testing.TB, path string) []fixture {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	var list []fixture
	for in.Scan() {
		var x fixture
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	if err := in.Err(); err != nil || len(list) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(list), err)
	}
	return list
}

// reach reports whether the grammar lets the whole text pass, and end there.
func reach(g *grammar.Grammar, text string) error {
	s := g.New()
	for i := range len(text) {
		if err := s.Accept(int32(text[i])); err != nil {
			return fmt.Errorf("after %q: %w", text[:i], err)
		}
	}
	return s.Accept(256)
}

// token is a string or a number in JSON.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?`)

// plain writes the numbers of a text without zeros at their ends, as ours are written: 1.0 is
// a whole number, and many programs read it as none.
func plain(text string) string {
	return token.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '"' || strings.ContainsAny(s, "eE") {
			return s
		}
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		if s == "-0" {
			return "0"
		}
		return s
	})
}

// spaced writes a value as Python does: a blank after commas and colons.
func spaced(raw []byte) string {
	var out bytes.Buffer
	inString := false
	for i, b := range raw {
		out.WriteByte(b)
		if b == '"' && (i == 0 || raw[i-1] != '\\' || even(raw[:i])) {
			inString = !inString
		}
		if !inString && (b == ',' || b == ':') {
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// even reports whether the number of backslashes at the end is.
func even(b []byte) bool {
	return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 0
}

// TestSchemas: the four numbers of shared/fixtures/schemas.
func TestSchemas(t *testing.T) {
	dir := fixtures.Path(t, "schemas")
	trie := byteTrie(t)
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	total, accepted := 0, 0
	reasons := map[string]int{}
	for _, path := range files {
		if strings.HasSuffix(path, "refuse.jsonl") {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		here, ok := 0, 0
		t.Run(name, func(t *testing.T) {
			for i, x := range readFixtures(t, path) {
				if skips(i) {
					continue
				}
				here++
				g, _, err := Compile(x.Schema, trie, grammar.Limits{}, Options{})
				if err != nil {
					checkRefusal(t, x, err, reasons)
					continue
				}
				ok++
				checkInstances(t, x, g)
			}
		})
		t.Logf("%-28s %4d of %4d accepted", name, ok, here)
		total, accepted = total+here, accepted+ok
	}
	t.Logf("%d of %d accepted, %.1f %%", accepted, total, 100*float64(accepted)/float64(total))
	var list []string
	for why, n := range reasons {
		list = append(list, fmt.Sprintf("%4d %s", n, why))
	}
	slices.Sort(list)
	slices.Reverse(list)
	for _, l := range list[:min(40, len(list))] {
		t.Log(l)
	}
	if float64(accepted) < 0.9*float64(total) {
		t.Errorf("%d of %d schemas accepted; at least 90 %% are due", accepted, total)
	}
}

// checkRefusal: a refusal names a keyword that the schema has.
func checkRefusal(t *testing.T, x fixture, err error, reasons map[string]int) {
	var e *Error
	if !errors.As(err, &e) {
		var l *grammar.LimitError
		if !errors.As(err, &l) {
			t.Errorf("%s: %v: neither an Error nor a LimitError", x.ID, err)
		}
		reasons[err.Error()]++
		return
	}
	reasons[e.Keyword+": "+e.Reason[:min(50, len(e.Reason))]]++
	known := e.Keyword == "" || slices.ContainsFunc(x.Keywords, func(k string) bool {
		k, _, _ = strings.Cut(k, ":")
		return strings.TrimSuffix(k, "[]") == e.Keyword
	})
	if !known {
		t.Errorf("%s: refused by %q (%v), which the schema does not have: %v", x.ID, e.Keyword, e, x.Keywords)
	}
	valid := slices.ContainsFunc(x.Tests, func(i instance) bool { return i.Valid })
	if e.Keyword == "" && valid {
		t.Errorf("%s: refused as a whole (%v), but has valid instances", x.ID, e)
	}
}

func checkInstances(t *testing.T, x fixture, g *grammar.Grammar) {
	for i, inst := range x.Tests {
		texts := []string{}
		if inst.Text != nil {
			texts = append(texts, *inst.Text)
		} else {
			texts = append(texts, string(inst.Data), spaced(inst.Data))
		}
		for _, text := range texts {
			if inst.Valid {
				text = plain(text)
			}
			err := reach(g, text)
			switch {
			case err == nil && !inst.Valid:
				t.Errorf("%s/%d: invalid (%v) but accepted: %.200s\n\tschema %.300s", x.ID, i, inst.Why, text, x.Schema)
			case err != nil && inst.Valid && (inst.Order == nil || *inst.Order):
				t.Errorf("%s/%d: valid but rejected: %.300v\n\tschema %.300s", x.ID, i, err, x.Schema)
			}
		}
	}
}

// TestRefuse: malformed schemas are refused where they are, unsatisfiable ones are
// refused.
func TestRefuse(t *testing.T) {
	trie := byteTrie(t)
	for _, x := range readFixtures(t, fixtures.Path(t, "schemas", "refuse.jsonl")) {
		_, _, err := Compile(x.Schema, trie, grammar.Limits{}, Options{})
		var e *Error
		switch {
		case x.Kind == "accept-or-refuse":
			if err != nil && (!errors.As(err, &e) || e.Pointer != *x.At || e.Keyword != x.Keyword) {
				t.Errorf("%s %s: refused with %v; want the place %s", x.ID, x.Schema, err, *x.At)
			}
		case !errors.As(err, &e):
			t.Errorf("%s %s: %v; want it refused at %q", x.ID, x.Schema, err, *x.At)
		case x.Kind == "malformed" && (e.Pointer != *x.At || e.Keyword != x.Keyword):
			t.Errorf("%s %s: refused at %q by %q (%v); want %q", x.ID, x.Schema, e.Pointer, e.Keyword, e, *x.At)
		}
	}
}
