package settings

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestVariables finds the variables that the source reads: each is in the table, and each
// of the table is read. Left out are the examples and bench/clients, which are clients of any server, and
// bench/fixtures, which only tests use, and quern-release, which runs in a checkout.
func TestVariables(t *testing.T) {
	var known []string
	unread := map[string]bool{}
	for _, r := range table() {
		known = append(append(known, r.env), r.also...)
		if r.env != "" && r.set == nil && r.key == "" {
			unread[r.env] = true
		}
	}
	// The standard library reads these, in os.UserConfigDir and os.TempDir.
	delete(unread, "XDG_CONFIG_HOME")
	delete(unread, "TMPDIR")
	root := filepath.Join("..", "..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == ".git" || name == "node_modules" || name == "examples" || name == "clients" || name == "quern-release" || name == "testdata" || name == "fixtures" {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		names, hidden, err := variables(text)
		if err != nil {
			return err
		}
		for _, n := range names {
			delete(unread, n)
			if !slices.Contains(known, n) {
				t.Errorf("%s reads %s, which is not in the table of settings", path, n)
			}
		}
		if len(hidden) > 0 && !strings.Contains(filepath.ToSlash(path), "internal/settings/") {
			t.Errorf("%s reads variables whose names are not to be seen there: %s", path, strings.Join(hidden, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range unread {
		t.Errorf("nothing reads %s", n)
	}
}

// variables lists the names that a file of Go asks the environment for, and the arguments
// that are neither literals, constants of the file, nor run over a list of literals.
func variables(text []byte) (names, hidden []string, err error) {
	if !bytes.Contains(text, []byte("nv(")) { // Getenv, LookupEnv, env
		return nil, nil, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	consts := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
			if s, ok := literal(v.Values[0]); ok {
				consts[v.Names[0].Name] = s
			}
		}
		return true
	})
	for _, decl := range file.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				name = f.Sel.Name
			case *ast.Ident:
				name = f.Name
			}
			if !slices.Contains([]string{"Getenv", "LookupEnv", "env"}, name) {
				return true
			}
			if s, ok := literal(call.Args[0]); ok {
				names = append(names, s)
				return true
			}
			id, ok := call.Args[0].(*ast.Ident)
			if !ok {
				hidden = append(hidden, "an expression")
			} else if s, ok := consts[id.Name]; ok {
				names = append(names, s)
			} else if list := lists(decl); len(list) > 0 {
				names = append(names, list...)
			} else {
				hidden = append(hidden, id.Name)
			}
			return true
		})
	}
	return names, hidden, nil
}

// lists are the strings in the composite literals of n.
func lists(n ast.Node) (out []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CompositeLit); ok {
			for _, e := range c.Elts {
				if s, ok := literal(e); ok {
					out = append(out, s)
				}
			}
		}
		return true
	})
	return out
}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(b.Value)
	return s, err == nil
}

func TestVariablesNotice(t *testing.T) {
	for _, tt := range []struct{ code, names, hidden string }{
		{`os.Getenv("A")`, "A", ""},
		{`os.LookupEnv("A"); a.env("B"); env("C")`, "A B C", ""},
		{`os.Getenv(c)`, "CONST", ""},
		{`for _, n := range []string{"A", "B"} { os.Getenv(n) }`, "A B", ""},
		{`os.Getenv(x)`, "", "x"},
		{`os.Getenv("A" + x)`, "", "an expression"},
		{`os.Getpid()`, "", ""},
	} {
		names, hidden, err := variables([]byte("package p\nconst c = \"CONST\"\nfunc f() { " + tt.code + " }\n"))
		if err != nil || strings.Join(names, " ") != tt.names || strings.Join(hidden, " ") != tt.hidden {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.code, names, hidden, err, tt.names, tt.hidden)
		}
	}
}
