package jinja

import "strings"

// maxIndent bounds one level of JSON indentation.
const maxIndent = 256

// filterToJSON has Hugging Face's parameters, which are those of json.dumps.
func filterToJSON(r *run, v Value, a []Value) Value {
	style := jsonStyle{ascii: boolArg(a[0]), item: ", ", key: ": ", sortKeys: boolArg(a[3])}
	if !isNone(a[1]) {
		style.pretty, style.item = true, ","
		switch w := a[1].(type) {
		case Str:
			style.indent = w.s
		default:
			style.indent = strings.Repeat(" ", min(max(index(w), 0), maxIndent+1))
		}
		if len(style.indent) > maxIndent {
			panic(limitf("tojson indents by more than %d", maxIndent))
		}
	}
	if !isNone(a[2]) {
		seps := r.unpack(a[2], 2)
		item, ok1 := seps[0].(Str)
		key, ok2 := seps[1].(Str)
		if !ok1 || !ok2 {
			panic(typeErrorf("separators must be strings"))
		}
		if len(item.s)+len(key.s) > maxIndent {
			panic(limitf("tojson separates by more than %d", maxIndent))
		}
		style.item, style.key = item.s, key.s
		if origin(item, key) != trusted {
			return markAll(r.toJSON(v, style).s, Outside)
		}
	}
	s := r.toJSON(v, style)
	if in, ok := a[1].(Str); ok && origin(in) != trusted {
		s = markAll(s.s, Outside)
	}
	return s
}
