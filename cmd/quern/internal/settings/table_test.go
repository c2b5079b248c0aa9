package settings

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that come from the table")

// TestGenerated compares what comes from the table with the files; `go generate` writes them.
func TestGenerated(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, tt := range []struct {
		file, text string
		whole      bool // else between the markers
	}{
		{"cmd/quern/quern.example.yaml", Example(), true},
		{"docs/configuration.md", Tables(), false},
		{"README.md", Brief(), false},
	} {
		const begin, end = "<!-- settings: go generate ./cmd/quern/... writes what follows -->\n\n", "<!-- end of settings -->\n\n"
		name := filepath.Join(root, filepath.FromSlash(tt.file))
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := tt.text
		if !tt.whole {
			before, rest, found := strings.Cut(string(old), begin)
			_, after, closed := strings.Cut(rest, end)
			if !found || !closed {
				t.Errorf("%s lacks the markers\n%s%s", tt.file, begin, end)
				continue
			}
			want = before + begin + want + end + after
		}
		if string(old) == want {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the table says; run: go generate ./cmd/quern/...", tt.file)
			continue
		}
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Every key of the file has a row, and every row says what it is.
func TestTable(t *testing.T) {
	rows := byKey()
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for name, i := range fields(typ) {
			key := strings.TrimPrefix(path+"."+name, ".")
			f := typ.Field(i).Type
			if f == reflect.TypeFor[auth]() {
				f = reflect.TypeFor[[]authKey]()
			}
			heading := f.Kind() == reflect.Struct
			if rows[key] == nil && !heading {
				t.Errorf("the table lacks %s", key)
			}
			switch {
			case key == "model_defaults": // the keys of models
			case heading:
				walk(f, key)
			case f.Kind() == reflect.Slice && f.Elem().Kind() == reflect.Struct:
				walk(f.Elem(), key+"[]")
			}
		}
	}
	walk(reflect.TypeFor[Settings](), "")
	seen, sections := map[string]bool{}, map[string]bool{}
	last := ""
	for _, r := range table() {
		if len(r.names()) == 0 || r.help == "" || r.flag != "" && r.commands == "" {
			t.Errorf("the row of %q, %q, %q is not complete", r.key, r.flag, r.env)
		}
		for _, n := range r.names() {
			if seen[n] {
				t.Errorf("%s occurs twice", n)
			}
			seen[n] = true
		}
		if r.section != last && sections[r.section] {
			t.Errorf("%v is not with the others of its section", r.names())
		}
		last, sections[r.section] = r.section, true
		r.typ() // panics where there is no such key
		if r.def == nil || r.kind() == reflect.Slice {
			continue
		}
		v := reflect.New(r.typ()).Elem()
		v.Set(reflect.ValueOf(r.def).Convert(v.Type()))
		if err := r.check(v, ""); err != nil {
			t.Errorf("the default of %s: %v", r.key, err)
		}
	}
}
