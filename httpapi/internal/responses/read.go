package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// A reader reads items of requests.
type reader struct {
	find func(id string) (json.RawMessage, bool, error) // a stored item; nil where none are
	warn func(string)
	err  error // of find
}

// roles are those of messages, with the contents they may have.
var roles = map[string][]string{
	"system":    {"input_text"},
	"developer": {"input_text"},
	"user":      {"input_text"},
	"assistant": {"output_text", "refusal"},
}

// foreignParts are contents of kinds that this server does not support.
var foreignParts = []string{"input_image", "input_file", "input_audio", "input_video", "computer_screenshot", "image_url"}

// maxID bounds the ids clients choose, in bytes.
const maxID = 128

// input reads the field input: a text of the user's, or items.
func (r *reader) input(v body.Value) []*item {
	if v.Kind() == '"' {
		it := newItem("", itemMessage)
		it.role, it.parts = "user", []part{{kind: "input_text", text: v.Str()}}
		return []*item{it}
	}
	if v.Kind() != '[' {
		v.Wrong("a string or an array of items")
		return nil
	}
	return r.items(v)
}

// items reads an array of items.
func (r *reader) items(v body.Value) []*item {
	out := make([]*item, 0, v.Count(body.MaxObjects))
	for raw := range v.Items() {
		if o := raw.Object(); o != nil {
			if it := r.item(o); it != nil {
				out = append(out, it)
			}
		}
	}
	return out
}

// item reads one item; nil after an error.
func (r *reader) item(o *body.Object) *item {
	kind := itemMessage
	v, typed := o.Get("type")
	switch {
	case typed:
		kind = v.Str()
	case !o.Has("role") && o.Has("id"): // as a reference may be spelled
		kind = itemReference
	}
	if kind == itemReference {
		return r.reference(o)
	}
	if prefixes[kind] == "" {
		if typed {
			v.Refuse(fault.CodeUnsupportedContent, v.Path(), "%s is %.60q: this server has message, function_call, function_call_output, reasoning and item_reference, and runs no tools of its own; leave the item out", v.Path(), kind)
		}
		return nil
	}
	id := o.Str("id")
	if len(id) > maxID {
		o.Refuse(fault.CodeTooLong, o.Path()+".id", "%s.id has %d bytes; the limit is %d", o.Path(), len(id), maxID)
	}
	it := newItem(id, kind)
	if s := o.OneOf("status", completed, incomplete, inProgress); s != "" {
		it.status = s
	}
	need := func(name string) string {
		if v, ok := o.Need(name); ok {
			return v.Str()
		}
		return ""
	}
	switch kind {
	case itemMessage:
		readMessage(o, it)
	case itemReasoning:
		r.reasoning(o, it)
	case itemCall:
		it.callID, it.name, it.text = need("call_id"), need("name"), need("arguments")
	case itemOutput:
		it.callID, it.text = need("call_id"), readOutput(o)
	}
	return it
}

// reference reads the id of a stored item, and returns that.
func (r *reader) reference(o *body.Object) *item {
	v, ok := o.Need("id")
	if !ok {
		return nil
	}
	if r.find != nil && r.err == nil {
		raw, ok, err := r.find(v.Str())
		if r.err = err; ok {
			return r.stored(raw)
		}
	}
	v.Refuse(fault.CodeNotFound, v.Path(), "%s: there is no item %.140q of a stored response; send the item itself", v.Path(), v.Str())
	return nil
}

// stored reads an item that was kept.
func (r *reader) stored(raw json.RawMessage) *item {
	o, err := body.Parse(raw)
	if err != nil {
		return nil
	}
	return r.item(o)
}

// readMessage reads the role and the content of a message.
func readMessage(o *body.Object, it *item) {
	role, ok := o.Need("role")
	if !ok {
		return
	}
	it.role = role.Str()
	kinds, ok := roles[it.role]
	if !ok {
		role.Invalid("must be system, developer, user or assistant, got %.60q", it.role)
		return
	}
	content, ok := o.Need("content")
	if !ok {
		return
	}
	switch content.Kind() {
	case '"':
		it.parts = []part{{kind: kinds[0], text: content.Str()}}
		return
	case '[':
	default:
		content.Wrong("a string or an array of parts")
		return
	}
	for v := range content.Items() {
		if p, ok := readPart(v, it.role, kinds); ok {
			it.parts = append(it.parts, p)
		}
	}
	if len(it.parts) == 0 && it.role != "assistant" {
		content.Invalid("must have at least one part")
	}
}

// readPart reads one content of a message.
func readPart(v body.Value, role string, kinds []string) (p part, ok bool) {
	o := v.Object()
	if o == nil {
		return p, false
	}
	kind, ok := o.Need("type")
	if !ok {
		return p, false
	}
	p.kind = kind.Str()
	switch {
	case slices.Contains(foreignParts, p.kind):
		kind.Refuse(fault.CodeUnsupportedContent, o.Path(), "%s is %s, which this server does not take; send text", o.Path(), p.kind)
		return p, false
	case p.kind == "text", p.kind == "input_text", p.kind == "output_text": // clients mix them up
		p.kind = kinds[0]
	case !slices.Contains(kinds, p.kind):
		kind.Invalid("must be one of %s in a message of role %s, got %.60q", strings.Join(kinds, ", "), role, p.kind)
		return p, false
	}
	field := "text"
	if p.kind == "refusal" {
		field = p.kind
	}
	t, ok := o.Need(field)
	if ok {
		p.text = t.Str()
	}
	return p, ok
}

// reasoning reads thinking that clients send back.
func (r *reader) reasoning(o *body.Object, it *item) {
	for v := range o.Items("summary") {
		if s := v.Object(); s != nil {
			it.summary = append(it.summary, s.Str("text"))
		}
	}
	var texts []string
	for v := range o.Items("content") {
		if p := v.Object(); p != nil {
			texts = append(texts, p.Str("text"))
		}
	}
	it.text = strings.Join(texts, "\n")
	v, ok := o.Get("encrypted_content")
	if !ok {
		return
	}
	text, ours := unseal(v.Str())
	switch {
	case ours:
		it.sealed = true
		it.text = cmp.Or(it.text, text)
	case it.text == "" && v.Ok():
		r.warn(v.Path() + ": it is of another server, and is left out")
	}
}

// readOutput reads the result of a call: a text, or parts of text.
func readOutput(o *body.Object) string {
	v, ok := o.Need("output")
	if !ok {
		return ""
	}
	switch v.Kind() {
	case '"':
		return v.Str()
	case '[':
	default:
		v.Wrong("a string or an array of parts")
		return ""
	}
	var all strings.Builder
	for item := range v.Items() {
		p := item.Object()
		if p == nil {
			break
		}
		kind, ok := p.Need("type")
		if !ok {
			break
		}
		switch kind.Str() {
		case "input_text", "output_text", "text":
			if t, ok := p.Need("text"); ok {
				all.WriteString(t.Str())
			}
		default:
			p.Refuse(fault.CodeUnsupportedContent, p.Path(), "%s is %.60q, which this server does not take; send text", p.Path(), kind.Str())
		}
	}
	return all.String()
}

// conversation reads items that were kept, whole.
func conversation(items []kept) (out []*item, err error) {
	o, err := body.Parse(joined(items))
	if err != nil {
		return nil, err
	}
	r := reader{warn: func(string) {}}
	if v, ok := o.Get("input"); ok {
		out = r.items(v)
	}
	if err := o.Err(); err != nil { // more objects than a body may have
		return nil, fault.New(engine.CodeInvalidValue, "previous_response_id", "the conversation has too many items; begin a new one")
	}
	return out, nil
}

// joined is a body whose input these items are.
func joined(items []kept) []byte {
	n := 0
	for _, k := range items {
		n += len(k.raw) + 1
	}
	b := make([]byte, 0, n+16)
	b = append(b, `{"input":[`...)
	for i, k := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, k.raw...)
	}
	return append(b, "]}"...)
}
