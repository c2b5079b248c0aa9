package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"

	"quern/engine"
	"quern/engine/token"
)

// A value is one JSON value and where it was found: under a name in an object, or at
// an index of an array. A body can have millions, so the path is only spelled when
// somebody is told.
type value struct {
	raw   []byte // of the body, without space around it
	in    *value // the object or array it is in; nil for the body
	name  string
	index int // -1 when not of an array
	p     *problem
}

func (v *value) path() string {
	switch {
	case v.in == nil:
		return ""
	case v.index >= 0:
		return v.in.path() + "[" + strconv.Itoa(v.index) + "]"
	}
	if at := v.in.path(); at != "" {
		return at + "." + v.name
	}
	return v.name
}

func (v *value) wrong(want string) {
	v.p.set(fail(codeInvalidType, v.path(), "%s must be %s, got %s", v.path(), want, describe(v.raw)))
}

func (v *value) invalid(format string, args ...any) {
	v.p.set(fail(codeInvalidValue, v.path(), "%s %s", v.path(), fmt.Sprintf(format, args...)))
}

// kind is what a JSON value starts with: one of `{["tf0n`, 0 standing for
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

func (v value) kind() byte { return kind(v.raw) }

func (v value) str() string {
	if v.kind() != '"' {
		v.wrong("a string")
		return ""
	}
	return unquote(v.raw)
}

// unquote returns what a valid JSON string says.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	json.Unmarshal(raw, &s) // the body was parsed before
	return s
}

func (v value) boolean() bool {
	switch string(v.raw) {
	case "true":
		return true
	case "false":
		return false
	}
	v.wrong("a boolean")
	return false
}

// integer accepts 16.0 for 16, as some languages know only one kind of number.
func (v value) integer(lo, hi int64) int64 {
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(v.raw), 64)
		switch {
		case v.kind() != '0' || f != math.Trunc(f) && ferr == nil:
			v.wrong("an integer")
			return 0
		case ferr != nil || math.Abs(f) > 1<<53:
			v.invalid("is too large a number: %.40s", v.raw)
			return 0
		}
		n = int64(f)
	}
	if n < lo || n > hi {
		if hi == math.MaxInt64 || hi == math.MaxInt32 {
			v.invalid("must be at least %d, got %d", lo, n)
		} else {
			v.invalid("must be between %d and %d, got %d", lo, hi, n)
		}
		return 0
	}
	return n
}

func (v value) number(lo, hi float64) float64 {
	if v.kind() != '0' {
		v.wrong("a number")
		return 0
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil || !(lo <= f && f <= hi) {
		v.invalid("must be between %v and %v, got %.40s", lo, hi, v.raw)
		return 0
	}
	return f
}

func (v value) object() *object {
	if v.p.objects++; v.p.objects > maxObjects {
		v.invalid("is one of more than %d objects in the body; send fewer", maxObjects)
		return nil
	}
	if v.kind() != '{' {
		v.wrong("an object")
		return nil
	}
	o := &object{value: v}
	for member := range elements(v.raw) {
		end := 1 + quoted(member[1:])
		colon := end + bytes.IndexByte(member[end:], ':')
		o.fields = append(o.fields, field{unquote(member[:end]), bytes.TrimLeft(member[colon+1:], space)})
	}
	return o
}

// items yields the items of an array without listing them first: a body can
// hold a hundred times its size in items. It ends at the first error found in
// the body.
func (v value) items() iter.Seq[value] {
	return func(yield func(value) bool) {
		if v.kind() != '[' {
			v.wrong("an array")
			return
		}
		index := 0
		for raw := range elements(v.raw) {
			if !yield(value{raw: raw, in: &v, index: index, p: v.p}) || v.p.err != nil {
				return
			}
			index++
		}
	}
}

// count is how many items an array has, at most as many as asked for.
func (v value) count(most int) int {
	n := 0
	for range elements(v.raw) {
		if n == most {
			break
		}
		n++
	}
	return n
}

// space is what may stand between the tokens of JSON.
const space = " \t\r\n"

// elements yields what stands between the brackets of a valid array or object, without
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

// tokens reads an array of token ids, which may not be empty.
func (v value) tokens() []token.ID {
	ids := make([]token.ID, 0, v.count(math.MaxInt))
	for item := range v.items() {
		ids = append(ids, token.ID(item.integer(0, math.MaxInt32)))
	}
	if len(ids) == 0 && v.p.err == nil {
		v.invalid("must not be empty")
	}
	return ids
}

// texts reads what stands for one or several texts: a string, strings, one
// array of token ids, or several.
func (v value) texts(most int) []engine.EmbedInput {
	const want = "a string, an array of strings, an array of token ids or an array of such arrays"
	switch v.kind() {
	case '"':
		return []engine.EmbedInput{{Text: v.str()}}
	case '[':
	default:
		v.wrong(want)
		return nil
	}
	var out []engine.EmbedInput
	first := byte(0)
	for item := range v.items() {
		if item.index == 0 {
			first = item.kind()
		}
		switch {
		case first == '0':
			return []engine.EmbedInput{{Tokens: v.tokens()}}
		case len(out) == most:
			v.invalid("must have at most %d entries; send several requests", most)
		case first != '"' && first != '[':
			v.invalid("must be %s", want)
		case item.kind() != first && first == '[':
			item.wrong("an array of token ids")
		case first == '[':
			out = append(out, engine.EmbedInput{Tokens: item.tokens()})
		default:
			out = append(out, engine.EmbedInput{Text: item.str()})
		}
	}
	if len(out) == 0 && v.p.err == nil {
		v.invalid("must not be empty")
	}
	return out
}
