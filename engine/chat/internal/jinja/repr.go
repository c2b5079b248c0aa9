package jinja

import (
	"fmt"
	"strings"
	"unicode"
)

// quote is Python's repr of a string.
func quote(s string) string {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	var b strings.Builder
	b.WriteByte(q)
	for _, r := range s {
		switch {
		case r == rune(q) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte(q)
	return b.String()
}

// str is Python's str.
func (r *run) str(v Value) Str {
	switch v := v.(type) {
	case Str:
		return v
	case undefined:
		return Str{}
	}
	return r.repr(v)
}

// repr is Python's repr.
func (r *run) repr(v Value) Str {
	w := reprWriter{r: r}
	w.write(v, 0)
	return markAll(w.b.String(), w.origin)
}

// markAll returns text whose every byte has origin o.
func markAll(text string, o Origin) Str {
	if o == trusted {
		return Str{s: text}
	}
	return TextFrom(text, o)
}

// A reprWriter writes nested values. Text from outside in any of them marks the
// whole result.
type reprWriter struct {
	r      *run
	b      strings.Builder
	origin Origin
}

func (w *reprWriter) write(v Value, depth int) {
	if depth > maxValueDepth {
		panic(errTooDeep())
	}
	before := w.b.Len()
	switch v := v.(type) {
	case NoneType:
		w.b.WriteString("None")
	case Str:
		if len(v.marks) > 0 {
			w.origin = Outside
		}
		if v.markup {
			w.b.WriteString("Markup(" + quote(v.s) + ")")
		} else {
			w.b.WriteString(quote(v.s))
		}
	case Bool, Int, bigInt, Float:
		w.b.WriteString(numberText(v))
	case *List:
		w.items("[", v.items, "]", depth)
		return
	case tuple:
		if len(v.items) == 1 {
			w.items("(", v.items, ",)", depth)
			return
		}
		w.items("(", v.items, ")", depth)
		return
	case *Dict:
		w.dict(v, depth)
		return
	case *dictView:
		w.b.WriteString("dict_" + v.kind + "(")
		w.items("[", v.items(), "]", depth)
		w.b.WriteByte(')')
	case *namespace:
		w.b.WriteString("<Namespace ")
		w.dict(v.vars, depth+1)
		w.b.WriteByte('>')
	case rangeValue:
		stop := v.start + v.n*v.step
		if v.step == 1 {
			fmt.Fprintf(&w.b, "range(%d, %d)", v.start, stop)
		} else {
			fmt.Fprintf(&w.b, "range(%d, %d, %d)", v.start, stop, v.step)
		}
	case undefined:
		w.b.WriteString("Undefined")
	case *macro:
		w.b.WriteString("<Macro " + quote(v.def.name) + ">")
	case *loop:
		fmt.Fprintf(&w.b, "<LoopContext %d/%d>", v.index0+1, v.count())
	default:
		w.b.WriteString("<" + v.typeName() + " object>")
	}
	w.r.charge(w.b.Len() - before + 1)
}

func (w *reprWriter) items(open string, items []Value, end string, depth int) {
	w.b.WriteString(open)
	for i, v := range items {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.write(v, depth+1)
	}
	w.b.WriteString(end)
	w.r.charge(len(items) + 1)
}

func (w *reprWriter) dict(d *Dict, depth int) {
	w.b.WriteByte('{')
	for i, k := range d.keys {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.write(k, depth+1)
		w.b.WriteString(": ")
		w.write(d.vals[i], depth+1)
	}
	w.b.WriteByte('}')
	w.r.charge(len(d.keys) + 1)
}
