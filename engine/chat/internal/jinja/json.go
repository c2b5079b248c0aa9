package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
)

// maxJSONDepth bounds the nesting of JSON from a client. It is below
// maxValueDepth, so what was read can be printed.
const maxJSONDepth = 200

// ReadJSON reads one JSON value. Keys keep their order; of equal keys the last
// value wins, at the first one's place; numbers without fraction or exponent
// are ints, of any size the engine allows. Every string, keys too, has the
// given origin. Errors wrap ErrJSON or ErrLimit.
func ReadJSON(from io.Reader, origin Origin) (v Value, err error) {
	defer catch(&err)
	d := json.NewDecoder(from)
	d.UseNumber()
	r := jsonReader{d, origin}
	v = r.value(0)
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after the value", ErrJSON)
	}
	return v, nil
}

type jsonReader struct {
	d      *json.Decoder
	origin Origin
}

func (r jsonReader) value(depth int) Value {
	if depth > maxJSONDepth {
		panic(limitf("JSON is nested more than %d deep", maxJSONDepth))
	}
	t, err := r.d.Token()
	if err != nil {
		panic(thrown{fmt.Errorf("%w: %v", ErrJSON, err)})
	}
	switch t := t.(type) {
	case bool:
		return Bool(t)
	case string:
		return TextFrom(t, r.origin)
	case json.Number:
		return jsonNumber(t.String())
	case json.Delim:
		if t == '[' {
			return r.list(depth)
		}
		return r.dict(depth)
	}
	return None
}

func (r jsonReader) list(depth int) Value {
	l := NewList()
	for r.d.More() {
		l.items = append(l.items, r.value(depth+1))
	}
	r.end()
	return l
}

func (r jsonReader) dict(depth int) Value {
	d := NewDict()
	for r.d.More() {
		t, err := r.d.Token()
		if err != nil {
			panic(thrown{fmt.Errorf("%w: %v", ErrJSON, err)})
		}
		key, ok := t.(string)
		if !ok {
			panic(thrown{fmt.Errorf("%w: a key is not a string", ErrJSON)})
		}
		d.SetFrom(key, r.origin, r.value(depth+1))
	}
	r.end()
	return d
}

// end reads the closing bracket.
func (r jsonReader) end() {
	if _, err := r.d.Token(); err != nil {
		panic(thrown{fmt.Errorf("%w: %v", ErrJSON, err)})
	}
}

func jsonNumber(s string) Value {
	if strings.ContainsAny(s, ".eE") {
		return Float(parseFloat(s))
	}
	if len(s) > maxIntBits/4 {
		panic(limitf("an integer has %d digits", len(s)))
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(thrown{fmt.Errorf("%w: number %q", ErrJSON, s)})
	}
	return fromBig(n)
}

// A jsonStyle is how tojson was asked to write.
type jsonStyle struct {
	ascii    bool
	indent   string // one level; used if pretty
	pretty   bool
	item     string // between items
	key      string // after a key
	sortKeys bool
}

// toJSON writes v as Python's json.dumps does.
func (r *run) toJSON(v Value, style jsonStyle) Str {
	w := jsonWriter{reprWriter: reprWriter{r: r}, jsonStyle: style}
	w.value(v, 0)
	return markAll(w.b.String(), w.origin)
}

// A jsonWriter marks its whole result if any string in it came from outside.
// The result is one piece of data in the prompt, so nothing is lost by that.
type jsonWriter struct {
	reprWriter
	jsonStyle
}

func (w *jsonWriter) value(v Value, depth int) {
	if depth > maxValueDepth {
		panic(errTooDeep())
	}
	before := w.b.Len()
	switch v := v.(type) {
	case NoneType:
		w.b.WriteString("null")
	case Bool:
		if v {
			w.b.WriteString("true")
		} else {
			w.b.WriteString("false")
		}
	case Int, bigInt:
		w.b.WriteString(numberText(v))
	case Float:
		w.b.WriteString(jsonFloat(float64(v)))
	case Str:
		w.text(v)
	case *List:
		w.list(v.items, depth)
		return
	case tuple:
		w.list(v.items, depth)
		return
	case *Dict:
		w.dict(v, depth)
		return
	default:
		panic(typeErrorf("Object of type %s is not JSON serializable", v.typeName()))
	}
	w.r.charge(w.b.Len() - before + 1)
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return floatText(f)
}

func (w *jsonWriter) text(s Str) {
	if len(s.marks) > 0 {
		w.origin = Outside
	}
	w.b.WriteByte('"')
	for _, r := range s.s {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r < 0x20:
			if i := strings.IndexRune("\b\f\n\r\t", r); i >= 0 {
				w.b.WriteString(`\` + "bfnrt"[i:i+1])
			} else {
				fmt.Fprintf(&w.b, `\u%04x`, r)
			}
		case r >= 0x10000 && w.ascii:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r >= 0x7f && w.ascii:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}

// gap starts a new line at depth when pretty.
func (w *jsonWriter) gap(depth int) {
	if w.pretty {
		w.b.WriteByte('\n')
		for range depth {
			w.b.WriteString(w.indent)
		}
	}
}

func (w *jsonWriter) list(items []Value, depth int) {
	w.all("[]", len(items), depth, func(i int) { w.value(items[i], depth+1) })
}

func (w *jsonWriter) dict(d *Dict, depth int) {
	var at []int // the order of keys, nil for theirs
	if w.sortKeys {
		at = w.r.sorted(d.keys, false)
	}
	w.all("{}", len(d.keys), depth, func(i int) {
		if at != nil {
			i = at[i]
		}
		w.writeKey(d.keys[i])
		w.b.WriteString(w.jsonStyle.key)
		w.value(d.vals[i], depth+1)
	})
}

// all writes n members between brackets.
func (w *jsonWriter) all(brackets string, n, depth int, write func(i int)) {
	if n == 0 {
		w.b.WriteString(brackets)
		w.r.charge(2)
		return
	}
	w.b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		before := w.b.Len()
		w.gap(depth + 1)
		w.r.charge(w.b.Len() - before)
		write(i)
	}
	w.gap(depth)
	w.b.WriteByte(brackets[1])
}

// writeKey writes a key, which JSON wants as a string.
func (w *jsonWriter) writeKey(k Value) {
	switch k := k.(type) {
	case Str:
		w.text(k)
	case NoneType:
		w.b.WriteString(`"null"`)
	case Bool:
		w.b.WriteString(map[Bool]string{true: `"true"`, false: `"false"`}[k])
	case Float:
		w.b.WriteString(`"` + jsonFloat(float64(k)) + `"`)
	case Int, bigInt:
		w.b.WriteString(`"` + numberText(k) + `"`)
	default:
		panic(typeErrorf("keys must be str, int, float, bool or None, not %s", k.typeName()))
	}
	w.r.charge(2)
}
