package wire

import (
	"encoding/json"
	"slices"
)

// Members of call objects, beside those the format names.
var (
	nameKeys = []string{"name", "tool_name", "function"}
	argsKeys = []string{"arguments", "parameters"}
	idKeys   = []string{"id", "tool_call_id"}
)

// An object is where a reader is in call objects.
type object struct {
	state   objectState
	array   bool
	depth   int    // of objects around the name: {"function": {…}}
	args    bool   // the arguments were read
	reading string // what the value is: "name", "args", "id", "text" (arguments as a string) or "" for nothing
}

type objectState uint8

const (
	objOpen objectState = iota
	objItem             // in the array
	objKey
	objKeyText
	objColon
	objValue
)

// objectStep reads some of a call object, or of an array of them.
func (r *Reader) objectStep() bool {
	c := &r.call
	o := &c.object
	if o.state != objKeyText && !(o.state == objValue && (len(c.val.open) > 0 || c.val.state != expValue)) {
		if n := blanks(r.in); n > 0 {
			r.eat(n)
			return true
		}
		if len(r.in) == 0 {
			return false
		}
	}
	switch o.state {
	case objOpen, objItem:
		return r.openObject()
	case objKey:
		return r.objectKey()
	case objKeyText, objValue:
		return r.objectValue()
	}
	// objColon
	if r.in[0] != ':' {
		return r.wrong()
	}
	r.eat(1)
	o.state = objValue
	c.val.reset()
	return true
}

func (r *Reader) openObject() bool {
	c := &r.call
	o := &c.object
	ch := r.in[0]
	switch {
	case ch == '{':
		r.commitObject()
		o.state = objKey
		r.call.val.dialect = JSON
	case ch == '[' && o.state == objOpen:
		o.array, o.state = true, objItem
		r.commitObject()
	case ch == ',' && o.state == objItem:
	case ch == ']' && o.state == objItem:
		r.eat(1)
		c.closed = true
		c.pc++
		return true
	default:
		switch _, is := r.closer(r.in); is {
		case matchMaybe:
			return false
		case matchYes: // no call at all
			r.commit()
			c.closed = true
		default:
			r.wrong()
		}
		return true
	}
	r.eat(1)
	return true
}

// commitObject commits the call, unless the format's own rule for what went
// wrong is to show it.
func (r *Reader) commitObject() {
	if r.Format.Bare == BareNever {
		r.commit()
	}
}

func (r *Reader) objectKey() bool {
	c := &r.call
	o := &c.object
	switch r.in[0] {
	case ',':
		r.eat(1)
		return true
	case '}':
		if o.depth > 0 {
			o.depth--
			r.eat(1)
			return true
		}
		if c.name == "" || r.tentative() && (r.tools == nil && len(c.args) == 0 || !r.known(c.name)) {
			return r.wrong()
		}
		r.eat(1)
		r.endCall()
		if o.array {
			o.state = objItem
			r.endItem()
			return true
		}
		c.closed = true
		c.pc++
		return true
	case '"':
		o.state = objKeyText
		c.val.reset()
		return true
	}
	return r.wrong()
}

// endItem makes ready for the next object of an array.
func (r *Reader) endItem() {
	c := &r.call
	c.name, c.id, c.ready, c.started = "", "", false, false
	c.object.args = false
	c.hold = r.Format.Keys.IDLast
	c.args = c.args[:0]
}

// tentative reports whether the call may still turn out to be content.
func (r *Reader) tentative() bool { return r.keep && !r.call.begun }

// role is the role of a member.
func (r *Reader) role(key string) (string, bool) {
	k := &r.Format.Keys
	switch {
	case k.NameIsKey:
		r.call.name = key
		return "args", true
	case key == k.Name || slices.Contains(nameKeys, key):
		return "name", true
	case key == k.Args || slices.Contains(argsKeys, key):
		return "args", true
	case key == k.ID || slices.Contains(idKeys, key):
		return "id", true
	}
	return "", key == "type"
}

func (r *Reader) objectValue() bool {
	c := &r.call
	o := &c.object
	if o.state == objValue && len(c.val.open) == 0 && len(c.val.out) == 0 && c.val.state == expValue {
		// The value's first byte.
		switch ch := r.in[0]; {
		case o.reading == "name" && ch == '{' && o.depth == 0:
			o.depth, o.state = 1, objKey
			r.eat(1)
			return true
		case o.reading == "name" && ch != '"', o.reading == "args" && ch != '{' && ch != '"' && ch != 'n':
			return r.wrong()
		case o.reading == "args" && o.args, o.reading == "name" && c.name != "":
			return r.wrong() // twice
		case o.reading == "args" && ch != '{':
			o.reading = "text"
		}
		o.args = o.args || o.reading == "args" || o.reading == "text"
	}
	if o.state == objValue && o.reading == "args" {
		switch r.value() {
		case bad:
			r.wrong()
		case more:
			return r.heldTooMuch()
		default:
			o.state = objKey
		}
		return true
	}
	n, st := c.val.run(r.in, r.last)
	r.eat(n)
	if o.reading == "" && o.state == objValue {
		c.val.out = c.val.out[:0]
	}
	switch st {
	case bad:
		return r.wrong()
	case more:
		most := MaxName
		if o.reading == "text" {
			most = MaxValue
		}
		if len(c.val.out) > 6*most {
			return r.wrong()
		}
		return false
	}
	var text string
	known := true
	if len(c.val.out) > 0 && c.val.out[0] == '"' {
		known = json.Unmarshal(c.val.out, &text) == nil
	} else {
		text = string(c.val.out)
	}
	if !known {
		return r.wrong()
	}
	if o.state == objKeyText {
		if o.reading, known = r.role(text); !known && r.tentative() || len(text) > MaxName {
			return r.wrong()
		}
		o.state = objColon
		return true
	}
	o.state = objKey
	switch o.reading {
	case "name":
		if text = r.resolve(text); !isName([]byte(text)) || r.tentative() && !r.known(text) {
			return r.wrong()
		}
		c.name = text
		r.flushArgs()
	case "id":
		c.id = text
	case "text":
		if text == "null" {
			text = "{}"
		}
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &members) != nil || members == nil {
			return r.wrong()
		}
		c.args, c.ready = append(c.args, text...), true
		r.flushArgs()
	}
	return true
}

// heldTooMuch ends a call whose name has not come within MaxHeld.
func (r *Reader) heldTooMuch() bool {
	if r.call.name == "" && len(r.call.args) > MaxHeld {
		return r.wrong()
	}
	return false
}
