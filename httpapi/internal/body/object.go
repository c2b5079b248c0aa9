// Package body reads requests field by field: JSON objects and forms. The first
// error of one is kept, so a handler reads every field and checks once.
package body

import (
	"bytes"
	"encoding/json"
	"iter"
	"time"
	"unicode/utf8"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// MaxObjects bounds the objects of a body that are read: messages, their parts,
// calls, documents. One takes a few hundred bytes, of which it may bring two.
const MaxObjects = 100_000

// A problem is the first error found in a body. All objects and values of one
// body share one, so a handler reads every field and checks once.
type problem struct {
	err     *fault.Error
	objects int // read so far
}

func (p *problem) set(e *fault.Error) {
	if p.err == nil {
		p.err = e
	}
}

// first returns the problem noted, nil if there is none.
func (p *problem) first() error {
	if p.err == nil {
		return nil
	}
	return p.err
}

// An Object is a JSON object being read field by field. A field that is null
// is absent. Getters of absent fields return the zero value or the default
// they are given.
type Object struct {
	Value
	fields []field
	read   map[string]bool // fields the endpoint read; nil where they are not counted
	inner  []*Object       // objects read by name
}

// A field is a member of an object.
type field struct {
	name string
	raw  []byte
}

// Parse parses a body. Of duplicate keys the last counts; nesting is
// limited by encoding/json to 10000.
func Parse(b []byte) (*Object, error) { return ParseNamed(b, "body") }

// ParseNamed is Parse with another name in errors: a message, an event.
func ParseNamed(b []byte, name string) (*Object, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fault.New(fault.CodeInvalidJSON, "", "the %s is empty; send a JSON object", name)
	}
	if !utf8.Valid(b) {
		return nil, fault.New(fault.CodeInvalidJSON, "", "the %s is not valid UTF-8", name)
	}
	if err := json.Unmarshal(b, &unread{}); err != nil {
		return nil, fault.New(fault.CodeInvalidJSON, "", "the %s is not valid JSON at byte %d: %v", name, err.(*json.SyntaxError).Offset, err)
	}
	if b = bytes.TrimSpace(b); b[0] != '{' {
		return nil, fault.New(fault.CodeInvalidJSON, "", "the %s must be a JSON object, got %s", name, describe(b))
	}
	v := Value{Raw: b, index: -1, p: &problem{objects: -1}} // the body itself does not count
	o := v.Object()
	o.read = map[string]bool{}
	return o, nil
}

// unread takes valid JSON and keeps none of it.
type unread struct{}

func (*unread) UnmarshalJSON([]byte) error { return nil }

// Err returns the first error found in the body this object belongs to.
func (o *Object) Err() error { return o.p.first() }

// Get returns a field that is present and not null.
func (o *Object) Get(name string) (Value, bool) {
	if o.read != nil {
		o.read[name] = true
	}
	raw, ok := o.Sent(name)
	if !ok || string(raw) == "null" {
		return Value{}, false
	}
	return o.member(name, raw), true
}

// Sent returns a field as it came.
func (o *Object) Sent(name string) ([]byte, bool) {
	for i := len(o.fields) - 1; i >= 0; i-- {
		if o.fields[i].name == name {
			return o.fields[i].raw, true
		}
	}
	return nil, false
}

func (o *Object) member(name string, raw []byte) Value {
	return Value{Raw: raw, in: &o.Value, Name: name, index: -1, p: o.p}
}

// Members yields the fields as they came, null or named twice as they may be.
func (o *Object) Members() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, f := range o.fields {
			if !yield(o.member(f.name, f.raw)) {
				return
			}
		}
	}
}

// Has reports whether a field is present and not null.
func (o *Object) Has(name string) bool {
	_, ok := o.Get(name)
	return ok
}

// Need is Get of a field that must be there.
func (o *Object) Need(name string) (Value, bool) {
	v, ok := o.Get(name)
	if !ok {
		v = o.member(name, nil)
		o.Refuse(engine.CodeMissingParam, v.Path(), "%s is required", v.Path())
	}
	return v, ok
}

// Ignore marks fields that are accepted and have no effect.
func (o *Object) Ignore(names ...string) {
	for _, n := range names {
		o.read[n] = true
	}
}

// read is the result of as for a field, or absent.
func read[T any](o *Object, name string, absent T, as func(Value) T) T {
	v, ok := o.Get(name)
	if !ok {
		return absent
	}
	return as(v)
}

// Str reads a string; "" when absent.
func (o *Object) Str(name string) string { return read(o, name, "", Value.Str) }

// Boolean reads true or false.
func (o *Object) Boolean(name string, absent bool) bool {
	return read(o, name, absent, Value.Boolean)
}

// Integer reads a whole number from lo to hi.
func (o *Object) Integer(name string, absent, lo, hi int64) int64 {
	return read(o, name, absent, func(v Value) int64 { return v.Integer(lo, hi) })
}

// Number reads a number from lo to hi; nil when absent.
func (o *Object) Number(name string, lo, hi float64) *float32 {
	return read(o, name, nil, func(v Value) *float32 { return new(float32(v.Number(lo, hi))) })
}

// OneOf reads a string that must be one of those given; "" when absent.
func (o *Object) OneOf(name string, allowed ...string) string {
	return read(o, name, "", func(v Value) string { return v.OneOf(allowed...) })
}

// Object reads a nested object; nil when absent or wrong.
func (o *Object) Object(name string) *Object {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	inner := v.Object()
	if inner != nil {
		inner.read = map[string]bool{}
		o.inner = append(o.inner, inner)
	}
	return inner
}

// Free returns the fields, at most so many, of a nested object whose names are its
// sender's own.
func (o *Object) Free(name string, most int) map[string]json.RawMessage {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	inner := v.Object()
	if inner == nil {
		return nil
	}
	if len(inner.fields) > most {
		v.Invalid("must have at most %d entries, got %d", most, len(inner.fields))
		return nil
	}
	out := make(map[string]json.RawMessage, len(inner.fields))
	for _, f := range inner.fields {
		out[f.name] = f.raw
	}
	return out
}

// Items yields the items of an array; none when it is absent or wrong.
func (o *Object) Items(name string) iter.Seq[Value] {
	return read[iter.Seq[Value]](o, name, func(func(Value) bool) {}, Value.Items)
}

// KeepAlive reads how long the model stays loaded after the request: seconds
// as a number, or a duration as "5m". Negative means for ever, 0 not at all.
func KeepAlive(o *Object) *time.Duration {
	v, ok := o.Get("keep_alive")
	if !ok {
		return nil
	}
	var d time.Duration
	if len(v.Raw) > 0 && v.Raw[0] == '"' {
		var err error
		if d, err = time.ParseDuration(v.Str()); err != nil {
			v.Invalid("must be seconds or a duration such as \"5m\", got %.40s", v.Raw)
			return nil
		}
	} else {
		d = time.Duration(v.Number(-1, 1e9) * float64(time.Second))
	}
	return &d
}
