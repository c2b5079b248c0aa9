package settings

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

// A value that may not be is refused wherever it comes from, and the error names where.
func TestOrigins(t *testing.T) {
	const bad = "?!"
	tried := 0
	for _, r := range table() {
		if r.typ() == nil || r.set != nil || strings.HasPrefix(r.key, "auth") {
			continue
		}
		v := reflect.New(r.typ()).Elem()
		if k := v.Kind(); k == reflect.Struct || k == reflect.Slice || k == reflect.Map || k == reflect.String && r.check(v, "") == nil && r.parse == nil {
			continue // any text will do
		}
		tried++
		names, depth := strings.Split(strings.Replace(r.key, "models[]", "model_defaults", 1), "."), 0
		text := `"` + bad + `"`
		for _, n := range slices.Backward(names) {
			text, depth = n+": "+text, depth+1
			if depth < len(names) {
				text = "{" + text + "}"
			}
		}
		for _, tt := range []struct {
			on         bool
			file       string
			env, flags []string
			want       string
		}{
			{true, "# settings\n" + text, nil, nil, "quern.yaml:2: " + strings.Join(names, ".") + ": "},
			{r.env != "", "", []string{r.env + "=" + bad}, nil, "environment variable " + r.env + ": "},
			{r.flag != "" && r.kind() != reflect.Bool, "", nil, []string{"--" + r.flag + "=" + bad}, "--" + r.flag + ": "},
		} {
			if !tt.on {
				continue
			}
			if _, err := load(t, tt.file, tt.env, tt.flags); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%s%v%v: %v; want %q", tt.file, tt.env, tt.flags, err, tt.want)
			}
		}
	}
	if tried < 30 {
		t.Errorf("only %d settings were tried", tried)
	}
}

// The later of default, file, variable and flag counts, for every setting that has them.
func TestEveryPrecedence(t *testing.T) {
	values := map[string][3]string{ // of file, variable and flag
		"listen": {":1", ":2", ":3"}, "threads": {"1", "2", "3"}, "device": {"cpu", "CPU", "auto"},
		"log.level": {"debug", "warn", "error"}, "log.format": {"json", "text", "json"}, "manage": {"all", "none", "auto"},
		"jobs.store": {"embedded", "off", "nats://a:1"},
	}
	for _, r := range table() {
		if r.key == "" || r.flag == "" || r.env == "" || r.set != nil {
			continue
		}
		v, ok := values[r.key]
		if !ok {
			t.Errorf("no values to try for %s", r.key)
			continue
		}
		file := r.key + ": '" + v[0] + "'"
		if section, key, nested := strings.Cut(r.key, "."); nested {
			file = section + ": {" + key + ": " + v[0] + "}"
		} else if r.kind() == reflect.Int {
			file = r.key + ": " + v[0]
		}
		env, flags := []string{r.env + "=" + v[1]}, []string{"--" + r.flag, v[2]}
		for i, tt := range []struct {
			file       string
			env, flags []string
			want       string
		}{
			{"", nil, nil, r.standard("serve")}, {file, nil, nil, v[0]}, {file, env, nil, strings.ToLower(v[1])}, {file, env, flags, v[2]},
		} {
			s, err := load(t, tt.file, tt.env, tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(field(&s.Settings, r.key)); got != tt.want {
				t.Errorf("%s, step %d: %s; want %s", r.key, i, got, tt.want)
			}
		}
	}
}
