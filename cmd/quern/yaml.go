package main

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A scalar is a setting written as one word: a duration, a size, a name out of
// a list. parse gets the word without quotes.
type scalar interface{ parse(string) error }

// decodeYAML reads one YAML document into dst, a pointer to a struct. Keys that
// do not occur keep the value dst came with. file is only used in messages,
// which begin with "file:line: ".
//
// It is stricter than a general YAML decoder on purpose: an unknown key, a key
// written twice, a number where text belongs and a second document are errors,
// because each of them would otherwise silently change what a server does.
func decodeYAML(file string, data []byte, dst any) error {
	doc, err := parser.ParseBytes(data, 0)
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) && ye.GetToken() != nil {
			return fmt.Errorf("%s:%d: %s", file, ye.GetToken().Position.Line, ye.GetMessage())
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	d := yamlDecoder{file: file, anchors: map[string]ast.Node{}}
	seen := false
	for _, doc := range doc.Docs {
		body := doc.Body
		if body == nil || body.Type() == ast.CommentType || body.Type() == ast.NullType {
			continue
		}
		if seen {
			return d.errorf(body, "", "a second document; quern reads only one")
		}
		seen = true
		if err := d.decode(body, reflect.ValueOf(dst).Elem(), ""); err != nil {
			return err
		}
	}
	return nil
}

type yamlDecoder struct {
	file    string
	anchors map[string]ast.Node
}

func (d *yamlDecoder) errorf(n ast.Node, path, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if path != "" {
		msg = path + ": " + msg
	}
	line := 0
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return fmt.Errorf("%s:%d: %s", d.file, line, msg)
}

// decode stores n in v. path names v the way a reader of the file would:
// models[0].cache_type.
func (d *yamlDecoder) decode(n ast.Node, v reflect.Value, path string) error {
	switch t := n.(type) {
	case *ast.AnchorNode:
		d.anchors[t.Name.GetToken().Value] = t.Value
		return d.decode(t.Value, v, path)
	case *ast.AliasNode:
		name := t.Value.GetToken().Value
		target, ok := d.anchors[name]
		if !ok {
			return d.errorf(n, path, "no anchor &%s above", name)
		}
		// An alias inside its own anchor would never end.
		delete(d.anchors, name)
		err := d.decode(target, v, path)
		d.anchors[name] = target
		return err
	case *ast.TagNode:
		return d.errorf(n, path, "tags (!…) are not supported")
	case *ast.NullNode:
		return nil // a key without a value keeps its default
	}
	if s, ok := v.Addr().Interface().(scalar); ok {
		text, ok := scalarText(n)
		if !ok {
			return d.errorf(n, path, "want a single value, got %s", describe(n, path))
		}
		if err := s.parse(text); err != nil {
			return d.errorf(n, path, "%v", err)
		}
		return nil
	}
	if v.Type() == reflect.TypeFor[auth]() {
		return d.decodeAuth(n, v.Addr().Interface().(*auth), path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := d.decode(n, p.Elem(), path); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		return d.decodeStruct(n, v, path)
	case reflect.Slice:
		return d.decodeSlice(n, v, path)
	case reflect.Map:
		return d.decodeMap(n, v, path)
	}
	return d.decodeValue(n, v, path)
}

func (d *yamlDecoder) decodeStruct(n ast.Node, v reflect.Value, path string) error {
	fields := map[string]int{}
	for i := range v.NumField() {
		fields[keyOf(v.Type().Field(i))] = i
	}
	return d.pairs(n, path, func(key, value ast.Node, name, path string) error {
		i, ok := fields[name]
		if !ok {
			return d.errorf(key, "", "unknown key %.60q%s", path, d.hint(name, fields))
		}
		return d.decode(value, v.Field(i), path)
	})
}

// hint helps with an unknown key: the nearest key that is allowed here, or the
// place where a key of that name is.
func (d *yamlDecoder) hint(name string, fields map[string]int) string {
	var here []string
	for k := range fields {
		here = append(here, k)
	}
	if c := closest(name, here); c != "" {
		return fmt.Sprintf("; did you mean %q?", c)
	}
	elsewhere := map[string]string{}
	collectKeys(reflect.TypeFor[settings](), "", elsewhere)
	if p, ok := elsewhere[name]; ok {
		return fmt.Sprintf("; there is one at %q", p)
	}
	sort.Strings(here)
	return "; the keys here are " + strings.Join(here, ", ")
}

func (d *yamlDecoder) decodeSlice(n ast.Node, v reflect.Value, path string) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.errorf(n, path, "want a list, got %s", describe(n, path))
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, e := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if _, null := e.(*ast.NullNode); null {
			return d.errorf(e, at, "an empty entry")
		}
		if err := d.decode(e, out.Index(i), at); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func (d *yamlDecoder) decodeMap(n ast.Node, v reflect.Value, path string) error {
	out := reflect.MakeMap(v.Type())
	err := d.pairs(n, path, func(key, value ast.Node, name, path string) error {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(value, e, path); err != nil {
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
func (d *yamlDecoder) pairs(n ast.Node, path string, f func(key, value ast.Node, name, path string) error) error {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return d.errorf(n, path, "want keys and values, got %s", describe(n, path))
	}
	seen := map[string]bool{}
	for _, p := range values {
		name := p.Key.GetToken().Value
		at := name
		if path != "" {
			at = path + "." + name
		}
		if seen[name] {
			return d.errorf(p.Key, "", "key %.60q occurs twice", at)
		}
		seen[name] = true
		if err := f(p.Key, p.Value, name, at); err != nil {
			return err
		}
	}
	return nil
}

func (d *yamlDecoder) decodeValue(n ast.Node, v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.String:
		text, ok := scalarText(n)
		if _, isBool := n.(*ast.BoolNode); !ok || isBool {
			return d.errorf(n, path, "want text, got %s", describe(n, path))
		}
		v.SetString(text)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return d.errorf(n, path, "want true or false, got %s", describe(n, path))
		}
		v.SetBool(b.Value)
	case reflect.Int:
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			return d.errorf(n, path, "want a whole number, got %s", describe(n, path))
		}
		switch x := i.Value.(type) {
		case int64:
			if x < math.MinInt32 || x > math.MaxInt32 {
				return d.errorf(n, path, "%d is out of range", x)
			}
			v.SetInt(x)
		case uint64:
			if x > math.MaxInt32 {
				return d.errorf(n, path, "%d is out of range", x)
			}
			v.SetInt(int64(x))
		default:
			return d.errorf(n, path, "%s is out of range", describe(n, path))
		}
	case reflect.Float32:
		var f float64
		switch x := n.(type) {
		case *ast.FloatNode:
			f = x.Value
		case *ast.IntegerNode:
			switch i := x.Value.(type) {
			case int64:
				f = float64(i)
			case uint64:
				f = float64(i)
			}
		default:
			return d.errorf(n, path, "want a number, got %s", describe(n, path))
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("quern: settings hold a %s at %s", v.Kind(), path))
	}
	return nil
}

// decodeAuth reads `none` or a list of keys.
func (d *yamlDecoder) decodeAuth(n ast.Node, a *auth, path string) error {
	if text, ok := scalarText(n); ok {
		if text != "none" {
			return d.errorf(n, path, "want none or a list of keys, got text")
		}
		*a = auth{None: true}
		return nil
	}
	*a = auth{}
	return d.decode(n, reflect.ValueOf(&a.Keys).Elem(), path)
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

// describe says what n is where something else is wanted. The value of a setting is
// quoted while it is short. Keys of the API are not, and neither is a file that is
// no configuration at all.
func describe(n ast.Node, path string) string {
	const most = 40
	if text, ok := scalarText(n); ok {
		_, isString := n.(*ast.StringNode)
		switch {
		case path == "" || strings.HasPrefix(path, "auth") || len(text) > most:
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

func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// collectKeys maps every key below t to the path of its first place.
func collectKeys(t reflect.Type, path string, into map[string]string) {
	switch t.Kind() {
	case reflect.Pointer:
		collectKeys(t.Elem(), path, into)
	case reflect.Slice:
		collectKeys(t.Elem(), path+"[]", into)
	case reflect.Struct:
		if t == reflect.TypeFor[auth]() {
			collectKeys(reflect.TypeFor[[]authKey](), path, into)
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			at := keyOf(f)
			if at == "" {
				continue
			}
			if path != "" {
				at = path + "." + at
			}
			if _, ok := into[keyOf(f)]; !ok {
				into[keyOf(f)] = at
			}
			collectKeys(f.Type, at, into)
		}
	}
}
