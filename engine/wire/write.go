package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Write writes calls as a model of the format would, for histories and samples.
// Arguments have to be JSON objects.
func (f *Format) Write(calls []Call) (string, error) {
	if len(f.Call) == 0 && f.Channel == nil || len(calls) == 0 {
		return "", fmt.Errorf("wire: %s writes no calls", f.Name)
	}
	w := writer{format: f}
	if c := f.Channel; c != nil && c.Args {
		for i, call := range calls {
			if i > 0 {
				w.WriteString(c.Start)
			}
			w.WriteString(c.Name + "commentary to=" + c.Prefix + call.Name + " " + c.Constrain + "json" + c.Message + call.Arguments + "<|call|>")
		}
		return w.String(), nil
	}
	if c := f.Channel; c != nil {
		w.WriteString(" to=" + calls[0].Name + c.Message)
	}
	if len(f.Section.Open) > 0 {
		w.WriteString(f.Section.Open[0] + f.gap())
	}
	list := f.inList()
	for i := range calls {
		if i > 0 && !list {
			w.WriteString(f.Sep)
		}
		if list {
			w.pattern(f.Call[0], calls)
			break
		}
		w.pattern(f.Call[0], calls[i:i+1])
	}
	if len(f.Section.Close) > 0 {
		w.WriteString(f.gap() + f.Section.Close[0])
	}
	return w.String(), w.err
}

// gap stands between a section's markers and its calls.
func (f *Format) gap() string {
	if strings.Contains(f.Sep, "\n") && strings.Contains(string(f.Call[0]), "«params»") {
		return "\n"
	}
	return ""
}

// inList reports whether all calls of a reply stand in one list.
func (f *Format) inList() bool {
	return slices.ContainsFunc(f.Call[0].Elements(), func(e Element) bool { return e.Kind == Objects || e.Kind == Calls || e.Kind == List })
}

type writer struct {
	strings.Builder
	format *Format
	err    error
	number int
}

func (w *writer) pattern(p Pattern, calls []Call) {
	f := w.format
	call := calls[0]
	elements := p.Elements()
	for i := 0; i < len(elements); i++ {
		e := elements[i]
		switch e.Kind {
		case Literal:
			if e.Optional && call.ID == "" {
				i++
				continue
			}
			w.WriteString(e.Text)
		case Name:
			w.WriteString(call.Name)
		case ID:
			w.WriteString(call.ID)
		case Args:
			w.value([]byte(call.Arguments), f.Dialect)
		case Object:
			w.object(call)
		case Objects:
			w.WriteString("[")
			for j, c := range calls {
				if j > 0 {
					w.WriteString(", ")
				}
				w.object(c)
			}
			w.WriteString("]")
		case Calls, List:
			w.python(calls, e.Kind == List)
		case Params:
			for _, m := range w.members([]byte(call.Arguments)) {
				w.param(m)
			}
		case Skip:
			w.number++
			fmt.Fprint(w, w.number)
		}
	}
}

func (w *writer) object(c Call) {
	k := w.format.Keys
	if k.NameIsKey {
		fmt.Fprintf(w, "{%s: %s}", quoted(c.Name), c.Arguments)
		return
	}
	w.WriteString("{")
	if k.ID != "" && !k.IDLast && c.ID != "" {
		fmt.Fprintf(w, "%q: %s, ", k.ID, quoted(c.ID))
	}
	fmt.Fprintf(w, "%q: %s, %q: %s", k.Name, quoted(c.Name), k.Args, c.Arguments)
	if k.ID != "" && k.IDLast && c.ID != "" {
		fmt.Fprintf(w, ", %q: %s", k.ID, quoted(c.ID))
	}
	w.WriteString("}")
}

func quoted(text string) string {
	return string(append(appendEscaped([]byte{'"'}, []byte(text)), '"'))
}

func (w *writer) python(calls []Call, list bool) {
	sep := w.format.Sep
	if list {
		w.WriteString("[")
	}
	for i, c := range calls {
		if i > 0 {
			w.WriteString(sep)
		}
		w.WriteString(c.Name + "(")
		for j, m := range w.members([]byte(c.Arguments)) {
			if j > 0 {
				w.WriteString(", ")
			}
			w.WriteString(m.key + "=")
			w.value(m.value, Python)
		}
		w.WriteString(")")
	}
	if list {
		w.WriteString("]")
	}
}

// A member is one of an object, in order.
type member struct {
	key   string
	value json.RawMessage
}

func (w *writer) members(object []byte) []member {
	var out []member
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		w.err = fmt.Errorf("wire: arguments %.40q are no object", object)
		return nil
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			w.err = err
			return nil
		}
		var v json.RawMessage
		if w.err = d.Decode(&v); w.err != nil {
			return nil
		}
		out = append(out, member{t.(string), v})
	}
	return out
}

// param writes one argument as the format's Param.
func (w *writer) param(m member) {
	f := w.format
	isText := len(m.value) > 0 && m.value[0] == '"'
	elements := f.Param.Elements()
	for _, e := range elements {
		switch e.Kind {
		case Literal:
			w.WriteString(e.Text)
		case Key:
			w.WriteString(m.key)
		case Type:
			w.WriteString(typeWord(f, m.value))
		case Value:
			if f.Values.Nested && !isText && w.nested(m.value) {
				continue
			}
			if isText {
				var text string
				w.err = json.Unmarshal(m.value, &text)
				w.WriteString(text)
				continue
			}
			w.Write(m.value)
		}
	}
}

// typeWord is the tag's word for a value's type.
func typeWord(f *Format, value []byte) string {
	kind := "number"
	switch value[0] {
	case '"':
		kind = "string"
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	case 't', 'f':
		kind = "boolean"
	case 'n':
		kind = "null"
	}
	switch {
	case kind == "string":
		return f.Types[0]
	case f.Types[1] != "":
		return f.Types[1]
	}
	return kind
}

// nested writes an object or an array as params inside the param.
func (w *writer) nested(value []byte) bool {
	switch value[0] {
	case '{':
		for _, m := range w.members(value) {
			w.param(m)
		}
		return true
	case '[':
		var items []json.RawMessage
		w.err = json.Unmarshal(value, &items)
		for _, v := range items {
			w.param(member{w.format.Values.Item, v})
		}
		return true
	}
	return false
}

// value writes JSON in a dialect.
func (w *writer) value(value []byte, d Dialect) {
	if d == JSON {
		w.Write(value)
		return
	}
	value = bytes.TrimSpace(value)
	switch value[0] {
	case '{':
		w.WriteString("{")
		for i, m := range w.members(value) {
			if i > 0 {
				w.WriteString(pick(d, ", ", ","))
			}
			w.WriteString(pick(d, quoted(m.key)+": ", m.key+":"))
			w.value(m.value, d)
		}
		w.WriteString("}")
	case '[':
		var items []json.RawMessage
		w.err = json.Unmarshal(value, &items)
		w.WriteString("[")
		for i, v := range items {
			if i > 0 {
				w.WriteString(pick(d, ", ", ","))
			}
			w.value(v, d)
		}
		w.WriteString("]")
	case '"':
		if d == Gemma {
			var text string
			w.err = json.Unmarshal(value, &text)
			w.WriteString(w.format.Quotes + text + w.format.Quotes)
			return
		}
		w.Write(value)
	default:
		word := string(value)
		if d == Python {
			word = strings.NewReplacer("true", "True", "false", "False", "null", "None").Replace(word)
		}
		w.WriteString(word)
	}
}

func pick(d Dialect, python, gemma string) string {
	if d == Python {
		return python
	}
	return gemma
}
