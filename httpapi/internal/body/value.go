package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/fault"
)

// A Value is one JSON value and where it was found: under a name in an object, or at
// an index of an array. A body can have millions, so the path is only spelled when
// it is shown.
type Value struct {
	Raw   []byte // of the body, without space around it
	in    *Value // the object or array it is in; nil for the body
	Name  string
	index int // -1 when not of an array
	p     *problem
}

// Path spells where the value is, as messages[2].content[0].
func (v *Value) Path() string {
	switch {
	case v.in == nil:
		return ""
	case v.index >= 0:
		return v.in.Path() + "[" + strconv.Itoa(v.index) + "]"
	}
	if at := v.in.Path(); at != "" {
		return at + "." + v.Name
	}
	return v.Name
}

// Refuse sets the body's failure, unless it has one.
func (v *Value) Refuse(c fault.Code, param, format string, args ...any) {
	v.p.set(fault.New(c, param, format, args...))
}

// Ok reports whether nothing wrong was found in the body so far.
func (v *Value) Ok() bool { return v.p.err == nil }

// At is the item at an index, for callers that only name its place.
func (v *Value) At(index int) Value { return Value{in: v, index: index, p: v.p} }

// Wrong refuses the value for its type.
func (v *Value) Wrong(want string) {
	v.Refuse(fault.CodeInvalidType, v.Path(), "%s must be %s, got %s", v.Path(), want, describe(v.Raw))
}

// Invalid refuses the value for its content.
func (v *Value) Invalid(format string, args ...any) {
	v.Refuse(engine.CodeInvalidValue, v.Path(), "%s %s", v.Path(), fmt.Sprintf(format, args...))
}

// kind is the first byte of a JSON value: one of `{["tf0n`, 0 standing for
// numbers.
func kind(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 'n'
	}
	if c := raw[0]; c == '-' || '0' <= c && c <= '9' {
		return '0'
	}
	return raw[0]
}

func describe(raw []byte) string {
	switch kind(raw) {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case '0':
		return "a number"
	}
	return "null"
}

// Kind is the value's first byte, as in kind.
func (v Value) Kind() byte { return kind(v.Raw) }

// Str reads a string.
func (v Value) Str() string {
	if v.Kind() != '"' {
		v.Wrong("a string")
		return ""
	}
	return unquote(v.Raw)
}

// OneOf reads a string that must be one of those given.
func (v Value) OneOf(allowed ...string) string {
	s := v.Str()
	if v.Ok() && !slices.Contains(allowed, s) {
		v.Invalid("must be one of %s, got %.60q", strings.Join(allowed, ", "), s)
	}
	return s
}

// unquote returns the text of a valid JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	json.Unmarshal(raw, &s) // the body was parsed before
	return s
}

// Boolean reads true or false.
func (v Value) Boolean() bool {
	switch string(v.Raw) {
	case "true":
		return true
	case "false":
		return false
	}
	v.Wrong("a boolean")
	return false
}

// Integer accepts 16.0 for 16, as some languages know only one kind of number.
func (v Value) Integer(lo, hi int64) int64 {
	n, err := strconv.ParseInt(string(v.Raw), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(v.Raw), 64)
		switch {
		case v.Kind() != '0' || f != math.Trunc(f) && ferr == nil:
			v.Wrong("an integer")
			return 0
		case ferr != nil || math.Abs(f) > 1<<53:
			v.Invalid("is too large a number: %.40s", v.Raw)
			return 0
		}
		n = int64(f)
	}
	if n < lo || n > hi {
		if n < lo && (hi == math.MaxInt64 || hi == math.MaxInt32) {
			v.Invalid("must be at least %d, got %d", lo, n)
		} else {
			v.Invalid("must be between %d and %d, got %d", lo, hi, n)
		}
		return 0
	}
	return n
}

// Number reads a number from lo to hi.
func (v Value) Number(lo, hi float64) float64 {
	if v.Kind() != '0' {
		v.Wrong("a number")
		return 0
	}
	f, err := strconv.ParseFloat(string(v.Raw), 64)
	if err != nil || !(lo <= f && f <= hi) {
		v.Invalid("must be between %s and %s, got %.40s", digits(lo), digits(hi), v.Raw)
		return 0
	}
	return f
}

// Object reads an object, one of MaxObjects; nil when it is none.
func (v Value) Object() *Object {
	if v.p.objects++; v.p.objects > MaxObjects {
		v.Invalid("is one of more than %d objects in the body; send fewer", MaxObjects)
		return nil
	}
	if v.Kind() != '{' {
		v.Wrong("an object")
		return nil
	}
	o := &Object{Value: v, fields: make([]field, 0, v.Count(math.MaxInt))}
	for member := range elements(v.Raw) {
		end := 1 + quoted(member[1:])
		colon := end + bytes.IndexByte(member[end:], ':')
		o.fields = append(o.fields, field{unquote(member[:end]), bytes.TrimLeft(member[colon+1:], space)})
	}
	return o
}

// Items yields the items of an array without listing them first: a body can
// hold a hundred times its size in items. It ends at the first error found in
// the body.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			v.Wrong("an array")
			return
		}
		index := 0
		for raw := range elements(v.Raw) {
			if !yield(Value{Raw: raw, in: &v, index: index, p: v.p}) || !v.Ok() {
				return
			}
			index++
		}
	}
}

// Count is how many items an array has, at most as many as asked for.
func (v Value) Count(most int) int {
	n := 0
	for range elements(v.Raw) {
		if n == most {
			break
		}
		n++
	}
	return n
}

// space is the blanks between tokens of JSON.
const space = " \t\r\n"

// elements yields the elements of a valid array or object, without
// the commas and space around it. The body was parsed before, so this only has to find
// the commas that are not inside something.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		depth, start := 0, 1
		for i := 1; i < len(raw); i++ {
			switch c := raw[i]; {
			case c == '"':
				i += quoted(raw[i+1:])
			case c == '[' || c == '{':
				depth++
			case (c == ']' || c == '}') && depth > 0:
				depth--
			case c == ']' || c == '}' || c == ',' && depth == 0:
				e := bytes.Trim(raw[start:i], space)
				if len(e) == 0 || !yield(e) { // empty: of an empty array
					return
				}
				start = i + 1
			}
		}
	}
}

// quoted returns the length of a string whose opening quote is before raw, with the
// closing one.
func quoted(raw []byte) int {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// IDs reads an array of token ids.
func (v Value) IDs() []token.ID {
	ids := make([]token.ID, 0, v.Count(math.MaxInt))
	for item := range v.Items() {
		ids = append(ids, token.ID(item.Integer(0, math.MaxInt32)))
	}
	return ids
}

// Tokens reads an array of token ids, which may not be empty.
func (v Value) Tokens() []token.ID {
	ids := v.IDs()
	if len(ids) == 0 && v.Ok() {
		v.Invalid("must not be empty")
	}
	return ids
}

// Texts reads one or several texts: a string, strings, one
// array of token ids, or several.
func (v Value) Texts(most int) []engine.EmbedInput {
	const want = "a string, an array of strings, an array of token ids or an array of such arrays"
	switch v.Kind() {
	case '"':
		return []engine.EmbedInput{{Text: v.Str()}}
	case '[':
	default:
		v.Wrong(want)
		return nil
	}
	out := make([]engine.EmbedInput, 0, v.Count(most))
	first := byte(0)
	for item := range v.Items() {
		if item.index == 0 {
			first = item.Kind()
		}
		switch {
		case first == '0':
			return []engine.EmbedInput{{Tokens: v.Tokens()}}
		case len(out) == most:
			v.Invalid("must have at most %d entries; send several requests", most)
		case first != '"' && first != '[':
			v.Invalid("must be %s", want)
		case item.Kind() != first && first == '[':
			item.Wrong("an array of token ids")
		case first == '[':
			out = append(out, engine.EmbedInput{Tokens: item.Tokens()})
		default:
			out = append(out, engine.EmbedInput{Text: item.Str()})
		}
	}
	if len(out) == 0 && v.Ok() {
		v.Invalid("must not be empty")
	}
	return out
}
