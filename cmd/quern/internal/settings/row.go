package settings

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quern/engine/hub"
)

// A row is one setting: a key of the configuration, a flag or a variable, or several of
// these that mean the same.
//
// A key that begins with models[] may stand in model_defaults too; its flag holds for every
// model, whatever its entry says.
type row struct {
	key   string   // as in the file, with dots
	flag  string   // without "--"
	short string   // the flag's letter
	env   string   // variable
	also  []string // other variables of the same meaning, which count after env

	section  string
	commands string // that have the flag, or whose help names the variable where there is no flag
	help     string // one line; a back-quoted word names the flag's value
	unit     string // of numbers

	// def is the default. Defaults of a model's keys are
	// set by the engine, from the constant named here.
	def   any
	quiet any    // the default of commands other than serve
	unset string // shown as the default where def is nil

	in    limit                        // of numbers
	one   []string                     // the words there are
	parse func(string) (string, error) // checks a word and spells it as quern does
	file  bool                         // a file's name: in the file relative to the file's folder

	live     bool                                     // SIGHUP applies it to a running server
	example  string                                   // the example's value instead of an empty one
	switches bool                                     // the flag takes no value
	many     bool                                     // the flag may be repeated, as those of lists may
	set      func(s *Settings, values []string) error // where the flag or variable is more than the key's value
}

// A limit is the range of numbers. The zero value is from 0 up.
type limit struct {
	min, max float64 // max 0 is none
	above    bool    // min itself is too little
	never    bool    // a duration may be never
}

func from(min float64) limit         { return limit{min: min} }
func above(min float64) limit        { return limit{min: min, above: true} }
func between(min, max float64) limit { return limit{min: min, max: max} }

func (l limit) String() string {
	switch {
	case l.max != 0:
		return fmt.Sprintf("from %g to %g", l.min, l.max)
	case l.above:
		return fmt.Sprintf("more than %g", l.min)
	}
	return fmt.Sprintf("from %g up", l.min)
}

func (l limit) check(v reflect.Value) error {
	var n float64
	switch {
	case v.CanInt():
		n = float64(v.Int())
	case v.CanFloat():
		n = v.Float()
	default:
		return nil
	}
	if d, ok := v.Interface().(Duration); ok && d == Never {
		if !l.never {
			return fmt.Errorf("never is only for keep_alive")
		}
		return nil
	}
	max := l.max
	if max == 0 {
		max = math.Inf(1)
	}
	// Written so that NaN fails too.
	if !(n >= l.min && n <= max) || l.above && n == l.min {
		return fmt.Errorf("must be %s, got %v", l, v.Interface())
	}
	return nil
}

// put stores the value of a flag or a variable.
func (r *row) put(v reflect.Value, text string) error {
	if s, ok := v.Addr().Interface().(scalar); ok {
		if err := s.parse(text); err != nil {
			return err
		}
		return r.check(v, "")
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a whole number %s", text, r.in)
		}
		v.SetInt(n)
	default:
		panic(fmt.Sprintf("quern: %s is a %s, which no flag sets", r.key, v.Kind()))
	}
	return r.check(v, "")
}

// check refuses invalid values of v, and writes them in quern's spelling. Names of files are
// relative to dir.
func (r *row) check(v reflect.Value, dir string) error {
	if v.Kind() != reflect.String {
		return r.in.check(v)
	}
	text := v.String()
	if r.one != nil {
		if text = strings.ToLower(text); !slices.Contains(r.one, text) {
			return fmt.Errorf("%q is not one of %s", v.String(), strings.Join(r.one, ", "))
		}
	}
	if r.file {
		if text == "" {
			return nil
		}
		var err error
		if text, err = fileBelow(dir, text); err != nil {
			return err
		}
	}
	if r.parse != nil {
		var err error
		if text, err = r.parse(text); err != nil {
			return err
		}
	}
	v.SetString(text)
	return nil
}

// fileBelow is the file called name in a configuration that lies in dir.
func fileBelow(dir, name string) (string, error) {
	if dir == "" || IsHub(name) {
		return name, nil
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		name = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return name, nil
}

// IsHub reports whether a model's path is a reference to the hub.
func IsHub(path string) bool { return strings.HasPrefix(path, hub.Prefix) }

// typ is the type of the field that the row's key names, nil without a key.
func (r *row) typ() reflect.Type { return types()[r.key] }

// types are those of the fields that keys name. Every command asks for all of them, for the
// help of its flags.
var types = sync.OnceValue(func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, r := range table() {
		if r.key != "" {
			out[r.key] = typeOf(r.key)
		}
	}
	return out
})

func typeOf(key string) reflect.Type {
	t := reflect.TypeFor[Settings]()
	for name := range strings.SplitSeq(key, ".") {
		name, entry := strings.CutSuffix(name, "[]")
		i, ok := fieldAt(t, name)
		if !ok {
			panic(fmt.Sprintf("quern: the table has the key %s, and the settings have not", key))
		}
		t = t.Field(i).Type
		switch {
		case t == reflect.TypeFor[auth]():
			t = reflect.TypeFor[[]authKey]()
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		}
		if entry {
			t = t.Elem()
		}
	}
	return t
}

func (r *row) kind() reflect.Kind {
	if t := r.typ(); t != nil {
		return t.Kind()
	}
	return reflect.Invalid
}

// ofModels begins the keys of a model.
const ofModels = "models[]."

// field is the field of s that key names. Of models' keys it is the one in
// model_defaults.
func field(s *Settings, key string) reflect.Value {
	if name, ok := strings.CutPrefix(key, ofModels); ok {
		key = "model_defaults." + name
	}
	return below(reflect.ValueOf(s).Elem(), key)
}

// below is the field of the struct v that key names.
func below(v reflect.Value, key string) reflect.Value {
	for name := range strings.SplitSeq(key, ".") {
		i, _ := fieldAt(v.Type(), name) // typeOf asks whether there is one
		v = v.Field(i)
	}
	return v
}

// fields are the keys of a struct and the places of their fields.
func fields(t reflect.Type) map[string]int {
	out := map[string]int{}
	for i := range t.NumField() {
		if name := keyOf(t, i); name != "" {
			out[name] = i
		}
	}
	return out
}

// fieldAt is the place in a struct of the field that a key names.
func fieldAt(t reflect.Type, key string) (int, bool) {
	for i := range t.NumField() {
		if key != "" && keyOf(t, i) == key {
			return i, true
		}
	}
	return 0, false
}

// keyOf is the key of a field, "" of one that has none.
func keyOf(t reflect.Type, i int) string {
	name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

func (r *row) defaultOf(command string) any {
	if r.quiet != nil && command != "serve" {
		return r.quiet
	}
	return r.def
}

// defaults are the values of settings that are not set.
func defaults(command string) Settings {
	var s Settings
	for _, r := range table() {
		def := r.defaultOf(command)
		if def == nil || strings.Contains(r.key, "[]") {
			continue
		}
		v := field(&s, r.key)
		v.Set(reflect.ValueOf(def).Convert(v.Type()))
	}
	return s
}

// byKey is the table by the keys of the file.
func byKey() map[string]*row {
	out := map[string]*row{}
	for _, r := range table() {
		if r.key != "" {
			out[r.key] = &r
		}
	}
	return out
}

// of reports whether r is one of command's.
func (r *row) of(command string) bool {
	return slices.Contains(strings.Fields(r.commands), command)
}

// Choices are the words that the setting with this flag may be.
func Choices(flag string) []string {
	for _, r := range table() {
		if r.flag == flag {
			return r.one
		}
	}
	return nil
}
