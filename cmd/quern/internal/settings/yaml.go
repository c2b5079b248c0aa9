package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"quern/engine/spell"
)

// A scalar is a setting written as one word, a duration or a size. parse gets the word
// without quotes.
type scalar interface{ parse(string) error }

// decodeYAML reads one YAML document into dst. Keys that do not occur keep the value dst
// came with. file names it in messages, which begin with "file:line: ", and files that it
// names lie relative to its folder.
//
// It is stricter than a general YAML decoder on purpose: an unknown key, a key
// written twice, a number where text belongs and a second document are errors,
// because each of them would otherwise silently change what a server does.
func decodeYAML(file string, data []byte, dst *Settings) error {
	doc, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0) // which editors of Windows begin files with
	if err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			return fmt.Errorf("%s:%d: %s", file, ye.GetToken().Position.Line, ye.GetMessage())
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	d := yamlDecoder{file: file, rows: byKey(), anchors: map[string]ast.Node{}}
	seen := false
	for _, doc := range doc.Docs {
		body := doc.Body
		if body == nil || body.Type() == ast.CommentType || body.Type() == ast.NullType {
			continue
		}
		if seen {
			return d.errorf(body, place{}, "a second document; quern reads only one")
		}
		seen = true
		if err := d.decode(body, reflect.ValueOf(dst).Elem(), place{}); err != nil {
			return err
		}
	}
	return nil
}

type yamlDecoder struct {
	file    string
	rows    map[string]*row
	anchors map[string]ast.Node
}

// A place is where a value stands: as a reader of the file would say it,
// models[0].cache_type, and as the table does, models[].cache_type.
type place struct{ path, key string }

// under is the place of a key in the struct at p.
func (p place) under(name string) place {
	if p.path == "" {
		return place{name, name}
	}
	key := p.key
	if key == "model_defaults" {
		key = "models[]"
	}
	return place{p.path + "." + name, key + "." + name}
}

func (d *yamlDecoder) errorf(n ast.Node, at place, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if at.path != "" {
		msg = at.path + ": " + msg
	}
	line := 0
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return fmt.Errorf("%s:%d: %s", d.file, line, msg)
}

// decode stores n in v, which the table may forbid.
func (d *yamlDecoder) decode(n ast.Node, v reflect.Value, at place) error {
	switch t := n.(type) {
	case *ast.AnchorNode:
		d.anchors[t.Name.GetToken().Value] = t.Value
		return d.decode(t.Value, v, at)
	case *ast.AliasNode:
		name := t.Value.GetToken().Value
		target, ok := d.anchors[name]
		if !ok {
			return d.errorf(n, at, "no anchor &%s above", name)
		}
		// An alias inside its own anchor would never end.
		delete(d.anchors, name)
		err := d.decode(target, v, at)
		d.anchors[name] = target
		return err
	case *ast.TagNode:
		return d.errorf(n, at, "tags (!…) are not supported")
	case *ast.NullNode:
		return nil // a key without a value keeps its default
	}
	if s, ok := v.Addr().Interface().(scalar); ok {
		text, ok := scalarText(n)
		if !ok {
			return d.errorf(n, at, "want a single value, got %s", describe(n, at))
		}
		if err := s.parse(text); err != nil {
			return d.errorf(n, at, "%v", err)
		}
		return d.check(n, v, at)
	}
	if v.Type() == reflect.TypeFor[auth]() {
		return d.decodeAuth(n, v.Addr().Interface().(*auth), at)
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := d.decode(n, p.Elem(), at); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		return d.decodeStruct(n, v, at)
	case reflect.Slice:
		return d.decodeSlice(n, v, at)
	case reflect.Map:
		return d.decodeMap(n, v, at)
	}
	if err := d.decodeValue(n, v, at); err != nil {
		return err
	}
	return d.check(n, v, at)
}

// check checks v against the table.
func (d *yamlDecoder) check(n ast.Node, v reflect.Value, at place) error {
	r := d.rows[at.key]
	if r == nil {
		panic("quern: the table of settings lacks " + at.key)
	}
	if err := r.check(v, filepath.Dir(d.file)); err != nil {
		return d.errorf(n, at, "%v", err)
	}
	return nil
}

func (d *yamlDecoder) decodeStruct(n ast.Node, v reflect.Value, at place) error {
	here := fields(v.Type())
	return d.pairs(n, at, func(key, value ast.Node, name string) error {
		at := at.under(name)
		i, ok := here[name]
		if !ok {
			return d.errorf(key, place{}, "unknown key %.60q%s", at.path, hint(name, here))
		}
		return d.decode(value, v.Field(i), at)
	})
}

// otherKeys are what settings are called in other programs, with the key that quern has.
var otherKeys = map[string]string{
	"port": "listen", "host": "listen", "address": "listen", "bind": "listen", "api_key": "auth", "api_keys": "auth",
	"log_level": "log.level", "ctx_size": "model_defaults.context_length", "max_model_len": "model_defaults.context_length", "n_gpu_layers": "gpu_layers",
}

// hint helps with an unknown key: the place where a key of that name is, or the nearest key
// that is allowed here.
func hint(name string, here map[string]int) string {
	for _, r := range table() {
		if r.key == name || strings.HasSuffix(r.key, "."+name) {
			return fmt.Sprintf("; there is one at %q", r.key)
		}
	}
	if key := otherKeys[name]; key != "" {
		return fmt.Sprintf("; quern has %q", key)
	}
	names := slices.Sorted(maps.Keys(here))
	if c := spell.Closest(name, names); c != "" {
		return fmt.Sprintf("; did you mean %q?", c)
	}
	return "; the keys here are " + strings.Join(names, ", ")
}

func (d *yamlDecoder) decodeSlice(n ast.Node, v reflect.Value, at place) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.errorf(n, at, "want a list, got %s", describe(n, at))
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, e := range seq.Values {
		at := place{fmt.Sprintf("%s[%d]", at.path, i), at.key}
		if e.Type() == ast.NullType {
			return d.errorf(e, at, "an empty entry")
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			at.key += "[]"
		}
		if err := d.decode(e, out.Index(i), at); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func (d *yamlDecoder) decodeMap(n ast.Node, v reflect.Value, at place) error {
	out := reflect.MakeMap(v.Type())
	err := d.pairs(n, at, func(_, value ast.Node, name string) error {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(value, e, place{at.path + "." + name, at.key}); err != nil {
			return err
		}
		out.SetMapIndex(reflect.ValueOf(name), e)
		return nil
	})
	if err == nil {
		v.Set(out)
	}
	return err
}

// pairs calls f for every key of the mapping n.
func (d *yamlDecoder) pairs(n ast.Node, at place, f func(key, value ast.Node, name string) error) error {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return d.errorf(n, at, "want keys and values, got %s", describe(n, at))
	}
	seen := map[string]bool{}
	for _, p := range values {
		name := p.Key.GetToken().Value
		if seen[name] {
			return d.errorf(p.Key, place{}, "key %.60q occurs twice", at.under(name).path)
		}
		seen[name] = true
		if err := f(p.Key, p.Value, name); err != nil {
			return err
		}
	}
	return nil
}

func (d *yamlDecoder) decodeValue(n ast.Node, v reflect.Value, at place) error {
	switch v.Kind() {
	case reflect.String:
		text, ok := scalarText(n)
		if _, isBool := n.(*ast.BoolNode); !ok || isBool {
			return d.errorf(n, at, "want text, got %s", describe(n, at))
		}
		v.SetString(text)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return d.errorf(n, at, "want true or false, got %s", describe(n, at))
		}
		v.SetBool(b.Value)
	case reflect.Int:
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			return d.errorf(n, at, "want a whole number, got %s", describe(n, at))
		}
		x, err := strconv.ParseInt(fmt.Sprint(i.Value), 10, 32)
		if err != nil {
			return d.errorf(n, at, "%s is out of range", describe(n, at))
		}
		v.SetInt(x)
	case reflect.Float32:
		var value any
		switch x := n.(type) {
		case *ast.FloatNode:
			value = x.Value
		case *ast.IntegerNode:
			value = x.Value
		default:
			return d.errorf(n, at, "want a number, got %s", describe(n, at))
		}
		f, err := strconv.ParseFloat(fmt.Sprint(value), 32)
		if err != nil {
			return d.errorf(n, at, "%s is out of range", describe(n, at))
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("quern: settings hold a %s at %s", v.Kind(), at.path))
	}
	return nil
}

// decodeAuth reads `none` or a list of keys.
func (d *yamlDecoder) decodeAuth(n ast.Node, a *auth, at place) error {
	if text, ok := scalarText(n); ok {
		if text != "none" {
			return d.errorf(n, at, "want none or a list of keys, got text")
		}
		*a = auth{None: true}
		return nil
	}
	*a = auth{}
	return d.decode(n, reflect.ValueOf(&a.Keys).Elem(), at)
}

// scalarText returns the word n stands for, quotes removed.
func scalarText(n ast.Node) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		return t.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// describe describes n in an error where another type is needed. The value of a setting is
// quoted while it is short. Keys of the API are not, and neither is a file that is
// no configuration at all.
func describe(n ast.Node, at place) string {
	const most = 40
	if text, ok := scalarText(n); ok {
		_, isString := n.(*ast.StringNode)
		switch {
		case at.path == "" || strings.HasPrefix(at.path, "auth") || len(text) > most:
			return "text"
		case isString:
			return fmt.Sprintf("%q", text)
		}
		return text
	}
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	}
	return n.Type().String()
}
