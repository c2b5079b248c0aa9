package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clocks are the functions that make a test depend on how busy the machine is. They are allowed
// in benchmarks, and in the bubbles of testing/synctest, whose clock is not the machine's.
var clocks = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
}

// clocked lists the functions that may use them, and why.
var clocked = map[string]string{
	"cmd/quern/internal/terminal/progress_test.go TestProgress": "what its table does runs in a bubble",
	"engine/hub/misbehaviour_test.go TestMisbehaviour":          "a pause lasts at least as long as asked for, however busy the machine is",
	"engine/sched/wide_test.go Run":                             "only a benchmark reads it",
	"httpapi/relay_test.go note":                                "called in bubbles only",
	"httpapi/relay_test.go onTape":                              "called in bubbles only",
	"httpapi/relay_test.go sleep":                               "called in bubbles only",
	"httpapi/slowbody_test.go trickle":                          "called in bubbles only",
	"httpapi/fake_test.go reply":                                "a reply goes on for a while, until it is cancelled; no test waits for the time",
}

// TestClocks keeps the clock out of tests. What waits for another goroutine uses a channel, a
// bubble of testing/synctest or bench/poll; what may not take long counts steps or bytes.
func TestClocks(t *testing.T) {
	used := map[string]bool{}
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		uses, err := clockUses(path, nil)
		if err != nil {
			return err
		}
		for _, u := range uses {
			key := filepath.ToSlash(name) + " " + u.in
			used[key] = true
			if clocked[key] == "" {
				t.Errorf("%s:%d: %s uses %s", filepath.ToSlash(name), u.line, u.in, u.what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("%d test files; the check saw next to nothing", files)
	}
	for key := range clocked {
		if !used[key] {
			t.Errorf("%s is allowed the clock and does not use it", key)
		}
	}
}

// A clockUse is one use of a clock.
type clockUse struct {
	in, what string // the function it is in; "time.Sleep"
	line     int
}

// clockUses returns the forbidden uses in a file, or in src if there is one.
func clockUses(path string, src any) ([]clockUse, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // what the file calls a package
	for _, i := range file.Imports {
		full := strings.Trim(i.Path.Value, `"`)
		name := full[strings.LastIndexByte(full, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = full
	}
	var uses []clockUse
	for _, d := range file.Decls {
		in := "(declarations)"
		if f, ok := d.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		if strings.HasPrefix(in, "Benchmark") {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Test" {
					if x, ok := s.X.(*ast.Ident); ok && names[x.Name] == "testing/synctest" {
						return false
					}
				}
				if x, ok := call.Fun.(*ast.Ident); ok && x.Name == "bubble" && slices.Contains(slices.Collect(maps.Values(names)), "testing/synctest") {
					return false // a helper that begins one
				}
			}
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			what := ""
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(clocks[names[x.Name]], s.Sel.Name) {
				what = names[x.Name] + "." + s.Sel.Name
			} else if name := s.Sel.Name; name == "SetDeadline" || name == "SetReadDeadline" || name == "SetWriteDeadline" {
				what = name
			}
			if what != "" {
				uses = append(uses, clockUse{in, what, set.Position(s.Pos()).Line})
			}
			return true
		})
	}
	return uses, nil
}

func TestClocksNotice(t *testing.T) {
	for src, want := range map[string]string{
		`import "time"; func TestX(t *testing.T) { time.Sleep(1) }`:                                                                 "TestX time.Sleep",
		`import "time"; func helper() bool { return time.Since(start) < 1 }`:                                                        "helper time.Since",
		`import clock "time"; var begin = clock.Now()`:                                                                              "(declarations) time.Now",
		`import "context"; func TestX(t *testing.T) { f(func() { context.WithTimeout(nil, 1) }) }`:                                  "TestX context.WithTimeout",
		`func TestX(t *testing.T) { c.SetReadDeadline(x) }`:                                                                         "TestX SetReadDeadline",
		`import "time"; func BenchmarkX(b *testing.B) { time.Now() }`:                                                               "",
		`import "time"; func TestX(t *testing.T) { _ = time.Second }`:                                                               "",
		`import ("time"; "testing/synctest"); func TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }`:  "",
		`import ("time"; "testing/synctest"); func TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { }); time.Sleep(1) }`: "TestX time.Sleep",
		`import "time"; type sink struct{}; func (sink) Run() { <-time.After(1) }`:                                                  "Run time.After",
	} {
		uses, err := clockUses("x_test.go", "package x; "+src)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, u := range uses {
			got += fmt.Sprint(u.in, " ", u.what)
		}
		if got != want {
			t.Errorf("%s\nuses %q, want %q", src, got, want)
		}
	}
}
