package httpapi

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxObjects bounds the objects of a body that are read: messages, their parts,
// calls, documents. One takes a few hundred bytes, of which it may bring two.
const maxObjects = 100_000

// A problem is the first error found in a body. All objects and values of one
// body share one, so a handler reads every field and asks once.
type problem struct {
	err     *apiError
	objects int // read so far
}

func (p *problem) set(e *apiError) {
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

// An object is a JSON object being read field by field. A field that is null
// is absent. Getters of absent fields return the zero value or the default
// they are given.
type object struct {
	value
	fields []field
	read   map[string]bool // fields somebody asked for; nil where nobody wants to know
	inner  []*object       // objects read by name
}

// A field is a member of an object.
type field struct {
	name string
	raw  []byte
}

// parseObject parses a body. Of duplicate keys the last counts; nesting is
// limited by encoding/json to 10000.
func parseObject(b []byte) (*object, error) {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	if len(b) == 0 {
		return nil, fail(codeInvalidJSON, "", "the body is empty; send a JSON object")
	}
	if !utf8.Valid(b) {
		return nil, fail(codeInvalidJSON, "", "the body is not valid UTF-8")
	}
	if err := json.Unmarshal(b, &unread{}); err != nil {
		return nil, fail(codeInvalidJSON, "", "the body is not valid JSON at byte %d: %v", err.(*json.SyntaxError).Offset, err)
	}
	if b[0] != '{' {
		return nil, fail(codeInvalidJSON, "", "the body must be a JSON object, got %s", describe(b))
	}
	v := value{raw: b, index: -1, p: &problem{objects: -1}} // the body itself does not count
	o := v.object()
	o.read = map[string]bool{}
	return o, nil
}

// unread takes valid JSON and keeps none of it.
type unread struct{}

func (*unread) UnmarshalJSON([]byte) error { return nil }

// err returns the first error found in the body this object belongs to.
func (o *object) err() error { return o.p.first() }

func (o *object) get(name string) (value, bool) {
	if o.read != nil {
		o.read[name] = true
	}
	raw, ok := o.sent(name)
	if !ok || string(raw) == "null" {
		return value{}, false
	}
	return o.at(name, raw), true
}

// sent returns a field as it came.
func (o *object) sent(name string) ([]byte, bool) {
	for i := len(o.fields) - 1; i >= 0; i-- {
		if o.fields[i].name == name {
			return o.fields[i].raw, true
		}
	}
	return nil, false
}

func (o *object) at(name string, raw []byte) value {
	return value{raw: raw, in: &o.value, name: name, index: -1, p: o.p}
}

// has reports whether a field is present and not null.
func (o *object) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// need records that a field is needed, unless it is there.
func (o *object) need(name string) (value, bool) {
	v, ok := o.get(name)
	if !ok {
		v = o.at(name, nil)
		o.p.set(fail(codeMissing, v.path(), "%s is required", v.path()))
	}
	return v, ok
}

// ignore marks fields that are accepted and have no effect.
func (o *object) ignore(names ...string) {
	for _, n := range names {
		o.read[n] = true
	}
}

func (o *object) str(name string) string {
	v, ok := o.get(name)
	if !ok {
		return ""
	}
	return v.str()
}

func (o *object) boolean(name string, absent bool) bool {
	v, ok := o.get(name)
	if !ok {
		return absent
	}
	return v.boolean()
}

// integer reads a whole number from lo to hi.
func (o *object) integer(name string, absent, lo, hi int64) int64 {
	v, ok := o.get(name)
	if !ok {
		return absent
	}
	return v.integer(lo, hi)
}

// number reads a number from lo to hi; nil when absent.
func (o *object) number(name string, lo, hi float64) *float32 {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	x := float32(v.number(lo, hi))
	return &x
}

// oneOf reads a string that must be one of those given; "" when absent.
func (o *object) oneOf(name string, allowed ...string) string {
	v, ok := o.get(name)
	if !ok {
		return ""
	}
	s := v.str()
	if o.p.err == nil && !slices.Contains(allowed, s) {
		o.p.set(fail(codeInvalidValue, v.path(), "%s must be one of %s, got %.60q", v.path(), strings.Join(allowed, ", "), s))
	}
	return s
}

// object reads a nested object; nil when absent or wrong.
func (o *object) object(name string) *object {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	inner := v.object()
	if inner != nil {
		inner.read = map[string]bool{}
		o.inner = append(o.inner, inner)
	}
	return inner
}

// free returns the fields, at most so many, of a nested object whose names are its
// sender's own.
func (o *object) free(name string, most int) map[string]json.RawMessage {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	inner := v.object()
	if inner == nil {
		return nil
	}
	if len(inner.fields) > most {
		v.invalid("must have at most %d entries, got %d", most, len(inner.fields))
		return nil
	}
	out := make(map[string]json.RawMessage, len(inner.fields))
	for _, f := range inner.fields {
		out[f.name] = f.raw
	}
	return out
}

// items yields the items of an array; none when it is absent or wrong.
func (o *object) items(name string) iter.Seq[value] {
	v, ok := o.get(name)
	if !ok {
		return func(func(value) bool) {}
	}
	return v.items()
}

// readKeepAlive reads how long the model stays loaded after the request: seconds
// as a number, or a duration as "5m". Negative means for ever, 0 not at all.
func readKeepAlive(o *object) *time.Duration {
	v, ok := o.get("keep_alive")
	if !ok {
		return nil
	}
	var d time.Duration
	if len(v.raw) > 0 && v.raw[0] == '"' {
		var err error
		if d, err = time.ParseDuration(v.str()); err != nil {
			v.invalid("must be seconds or a duration such as \"5m\", got %.40s", v.raw)
			return nil
		}
	} else {
		d = time.Duration(v.number(-1, 1e9) * float64(time.Second))
	}
	return &d
}
