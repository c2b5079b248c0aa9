package jinja

import "strings"

// maxIndent bounds one level of JSON indentation.
const maxIndent = 256

// filterToJSON has Hugging Face's parameters, which are those of json.dumps.
func filterToJSON(r *run, v Value, a []Value) (Value, error) {
	style := jsonStyle{ascii: boolArg(a[0]), item: ", ", key: ": ", sortKeys: boolArg(a[3])}
	if !isNone(a[1]) {
		style.pretty, style.item = true, ","
		switch w := a[1].(type) {
		case Str:
			style.indent = w.s
		default:
			n, err := index(w)
			if err != nil {
				return nil, err
			}
			style.indent = strings.Repeat(" ", min(max(n, 0), maxIndent+1))
		}
		if len(style.indent) > maxIndent {
			return nil, limitf("tojson indents by more than %d", maxIndent)
		}
	}
	if !isNone(a[2]) {
		seps, err := r.unpack(a[2], 2)
		if err != nil {
			return nil, err
		}
		item, ok1 := seps[0].(Str)
		key, ok2 := seps[1].(Str)
		if !ok1 || !ok2 {
			return nil, typeErrorf("separators must be strings")
		}
		if len(item.s)+len(key.s) > maxIndent {
			return nil, limitf("tojson separates by more than %d", maxIndent)
		}
		style.item, style.key = item.s, key.s
		if origin(item, key) != trusted {
			s, err := r.toJSON(v, style)
			return markAll(s.s, Outside), err
		}
	}
	s, err := r.toJSON(v, style)
	if in, ok := a[1].(Str); ok && origin(in) != trusted {
		s = markAll(s.s, Outside)
	}
	return s, err
}
