package wire

import (
	"bytes"
	"slices"
	"strings"
)

// A params is where a reader is in arguments written one after another.
type params struct {
	pc     int
	key    string
	kind   string // the value's type in the tag
	end    string // the literal behind the value
	want   types
	mode   valueMode
	any    bool    // an argument was written
	seen   int     // bytes of the value that were searched for its end
	frames []frame // values inside values, outermost first
}

// A frame is an object or an array that is written as params.
type frame struct {
	key   string
	end   string // the literal behind it
	array bool
	any   bool // it has a member
}

type valueMode uint8

const (
	valUndecided valueMode = iota
	valString              // sent as it comes
	valWhole               // its type is known when it is whole
	valJSON                // sent as it comes, as JSON
	valCDATA
	valEnd // only the closing tag is missing
)

const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

// paramsStep reads some of the arguments.
func (r *Reader) paramsStep() bool {
	c := &r.call
	p := &c.params
	if !c.ready {
		c.ready = true
		r.startCall()
	}
	if p.pc == 0 {
		return r.nextParam()
	}
	piece := &r.param[p.pc]
	if piece.Kind == Value {
		return r.paramValue()
	}
	if piece.Kind == Literal {
		return r.paramLiteral(piece)
	}
	// The key, or what the tag says of the type.
	at, _, is := piece.stops.find(r.in, r.last)
	if is != matchYes {
		if at > MaxName {
			return r.wrong()
		}
		return false
	}
	text := string(r.plain(bytes.TrimSpace(r.in[:at])))
	if len(text) > MaxName {
		return r.wrong()
	}
	r.eat(at)
	p.pc++
	if piece.Kind == Type {
		p.kind = text
	} else if piece.Kind == Key {
		p.key, p.kind = text, ""
	}
	return true
}

func (r *Reader) paramLiteral(piece *piece) bool {
	p := &r.call.params
	if !piece.Optional {
		r.eat(blanks(r.in))
	}
	n, is := prefixed(r.in, piece.Text, r.last)
	switch {
	case is == matchYes:
		r.eat(n)
		p.pc++
		if p.pc < len(r.param) && r.param[p.pc].Kind == Value {
			r.beginValue()
		}
	case is == matchMaybe || len(r.in) == 0:
		return false
	case piece.Optional:
		p.pc += 2
	default:
		r.wrong()
	}
	return true
}

// nextParam reads the text before an argument, or after the last.
func (r *Reader) nextParam() bool {
	c := &r.call
	p := &c.params
	if n := blanks(r.in); n > 0 {
		r.eat(n)
		return true
	}
	if len(r.in) == 0 {
		return false
	}
	maybe := false
	if n := len(p.frames); n > 0 {
		f := p.frames[n-1]
		size, is := prefixed(r.in, f.end, r.last)
		if is == matchYes {
			r.eat(size)
			if !f.any {
				r.put(string(openOf(f)))
			}
			r.put(string(openOf(f) + 2))
			p.frames = p.frames[:n-1]
			r.flushArgs()
			return true
		}
		maybe = is == matchMaybe
	} else {
		_, is := r.closer(r.in)
		for _, text := range r.Syntax.close {
			if _, m := prefixed(r.in, text, r.last); m != matchNo && is == matchNo {
				is = m
			}
		}
		cut := r.last && r.cutCloser(r.in) && !strings.HasPrefix(r.paramOpen, string(r.in))
		if is == matchYes || cut {
			r.endParams()
			if cut {
				r.eat(len(r.in))
			}
			return true
		}
		maybe = is == matchMaybe
	}
	switch n, is := prefixed(r.in, r.paramOpen, r.last); {
	case is == matchYes && !maybe:
		r.eat(n)
		p.pc = 1
		return true
	case maybe || is == matchMaybe:
		return false
	}
	return r.wrong()
}

// cutCloser reports whether the reply ends inside the marker that closes the
// call.
func (r *Reader) cutCloser(rest []byte) bool {
	c := &r.call
	return slices.ContainsFunc(c.pieces[c.pc:], func(p piece) bool { return p.Kind == Literal && strings.HasPrefix(p.Text, string(rest)) })
}

func openOf(f frame) byte {
	if f.array {
		return '['
	}
	return '{'
}

func (r *Reader) endParams() {
	c := &r.call
	if !c.params.any {
		r.put("{")
	}
	r.put("}")
	r.endCall()
	c.closed = true
	c.pc++
}

func (r *Reader) put(text string) { r.call.args = append(r.call.args, text...) }

// path is where the value stands in the arguments; items of arrays are "".
func (p *params) path() []string {
	var path []string
	for i, f := range p.frames {
		key := f.key
		if i > 0 && p.frames[i-1].array {
			key = ""
		}
		path = append(path, key)
	}
	key := p.key
	if n := len(p.frames); n > 0 && p.frames[n-1].array {
		key = ""
	}
	return append(path, key)
}

// beginValue writes the key and decides how the value is read.
func (r *Reader) beginValue() {
	p := &r.call.params
	v := &r.Format.Values
	p.end = strings.ReplaceAll(r.valueEnd(), "\x00", p.key)
	switch p.kind {
	case "":
		p.want = r.tools[r.call.name].of(p.path())
	case r.Format.Types[0]:
		p.want = isString
	default:
		p.want = anyType &^ isString
	}
	r.putKey()
	p.mode = valUndecided
	if !v.Newline && !v.CDATA && !v.Nested {
		p.mode = r.modeOf()
	}
}

// valueEnd is the literal behind a value, with a zero byte for the key.
func (r *Reader) valueEnd() string {
	var end string
	for _, piece := range r.param[slices.IndexFunc(r.param, func(p piece) bool { return p.Kind == Value })+1:] {
		if piece.Kind == Key {
			end += "\x00"
		} else {
			end += piece.Text
		}
	}
	return end
}

// putKey writes the text before a value.
func (r *Reader) putKey() {
	p := &r.call.params
	any, array := &p.any, false
	if n := len(p.frames); n > 0 {
		any, array = &p.frames[n-1].any, p.frames[n-1].array
	}
	switch {
	case *any:
		r.put(",")
	case array:
		r.put("[")
	default:
		r.put("{")
	}
	*any = true
	if !array {
		r.put(`"`)
		r.call.args = appendEscaped(r.call.args, []byte(p.key))
		r.put(`":`)
	}
}

// modeOf decides by the type how a value is read.
func (r *Reader) modeOf() valueMode {
	p := &r.call.params
	v := &r.call.val
	switch {
	case p.want == isString, p.want == 0 && !r.Format.Values.JSON:
		r.put(`"`)
		return valString
	case p.want != 0 && p.want&^(isObject|isArray) == 0:
		v.reset()
		v.dialect = Python
		return valJSON
	}
	return valWhole
}

// paramValue reads some of a value.
func (r *Reader) paramValue() bool {
	p := &r.call.params
	switch p.mode {
	case valUndecided:
		return r.decideValue()
	case valString, valCDATA:
		return r.stringValue()
	case valWhole:
		return r.convertValue()
	case valJSON:
		return r.jsonValue()
	}
	// Only the tag is missing.
	r.eat(blanks(r.in))
	switch n, is := prefixed(r.in, p.end, r.last); {
	case is == matchYes:
		r.eat(n)
		p.pc = 0
		r.flushArgs()
	case is == matchMaybe || len(r.in) == 0:
		return false
	default:
		r.wrong()
	}
	return true
}

// decideValue looks at the beginning of a value.
func (r *Reader) decideValue() bool {
	c := &r.call
	p := &c.params
	v := &r.Format.Values
	if len(r.in) == 0 {
		return false
	}
	if v.Newline {
		if r.in[0] == '\n' {
			// The line break behind the tag, unless it is the one before the
			// closing tag.
			if _, is := prefixed(r.in, "\n"+p.end, r.last); is == matchMaybe {
				return false
			} else if is == matchNo {
				r.eat(1)
			}
		}
		p.mode = r.modeOf()
		return true
	}
	skip := blanks(r.in)
	if v.CDATA {
		switch n, is := prefixed(r.in[skip:], cdataOpen, r.last); {
		case is == matchYes:
			r.eat(skip + n)
			r.put(`"`)
			p.mode = valCDATA
			return true
		case skip == len(r.in):
			if skip < maxGap && !r.last {
				return false
			}
		case is == matchMaybe:
			return false
		}
	}
	if v.Nested && p.want&isString == 0 {
		_, end := prefixed(r.in[skip:], p.end, r.last)
		switch _, is := prefixed(r.in[skip:], r.paramOpen, r.last); {
		case skip == len(r.in):
			if skip < maxGap && !r.last {
				return false
			}
		case end == matchMaybe || is == matchMaybe:
			return false
		case is == matchYes && end == matchNo:
			if len(p.frames) >= MaxDepth {
				return r.wrong()
			}
			r.eat(skip)
			return r.nest()
		}
	}
	p.mode = r.modeOf()
	return true
}

// nest begins a value that is written as params. It is an array if the schema
// says so, or if it says nothing and the first member is an item.
func (r *Reader) nest() bool {
	p := &r.call.params
	array := p.want&isArray != 0 && p.want&isObject == 0
	if item := r.paramOpen + r.Format.Values.Item + ">"; p.want&(isArray|isObject) != isArray && p.want&(isArray|isObject) != isObject {
		_, is := prefixed(r.in, item, r.last)
		if is == matchMaybe {
			return false
		}
		array = is == matchYes
	}
	p.frames = append(p.frames, frame{key: p.key, end: p.end, array: array})
	p.pc = 0
	return true
}

// stringValue sends a string up to the closing tag.
func (r *Reader) stringValue() bool {
	c := &r.call
	p := &c.params
	end := p.end
	if p.mode == valCDATA {
		end = cdataClose
	}
	at, is := findText(r.in, end, r.last)
	text := r.in[:at]
	if r.Format.Values.Newline {
		// A line break before the tag is not part of the value.
		if is == matchYes {
			text = bytes.TrimSuffix(text, []byte("\n"))
		} else if !r.last && len(text) > 0 && text[len(text)-1] == '\n' {
			text = text[:len(text)-1]
		}
	}
	c.args = appendEscaped(c.args, r.plain(text))
	if is == matchYes {
		r.eat(at + len(end))
		r.put(`"`)
		p.pc = 0
		if p.mode == valCDATA {
			p.pc, p.mode = len(r.param)-1, valEnd
			for r.param[p.pc].Kind != Value {
				p.pc--
			}
		}
	} else {
		r.eat(len(text))
	}
	r.flushArgs()
	return is == matchYes
}

// convertValue waits for a value to be whole.
func (r *Reader) convertValue() bool {
	c := &r.call
	p := &c.params
	from := max(0, p.seen-len(p.end))
	at, is := findText(r.in[from:], p.end, r.last)
	if at += from; is != matchYes {
		if p.seen = len(r.in); at > MaxValue {
			return r.wrong()
		}
		return false
	}
	p.seen = 0
	text := r.plain(r.in[:at])
	if r.Format.Values.Newline {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	c.args = append(c.args, convert(text, p.want, r.Format.Values.JSON || p.kind != "")...)
	r.eat(at + len(p.end))
	p.pc = 0
	r.flushArgs()
	return true
}

// jsonValue sends an object or an array as it comes.
func (r *Reader) jsonValue() bool {
	c := &r.call
	p := &c.params
	fresh := len(c.val.open) == 0
	if n := blanks(r.in); fresh && n > 0 {
		r.eat(n)
		return true
	}
	if len(r.in) == 0 {
		return false
	}
	if fresh && r.in[0] != '{' && r.in[0] != '[' {
		p.mode = valWhole // not what the schema asks for
		return true
	}
	switch r.value() {
	case done:
		p.mode = valEnd
	case bad:
		r.wrong()
	case more:
		return false
	}
	return true
}
