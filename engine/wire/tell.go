package wire

import (
	"bytes"
	"strings"
)

// value reads some of the value of arguments and sends it.
func (r *Reader) value() status {
	c := &r.call
	n, st := c.val.run(r.in, r.last)
	r.eat(n)
	c.args = append(c.args, c.val.out...)
	c.ready = c.ready || begins(c.args)
	c.val.out = c.val.out[:0]
	r.flushArgs()
	return st
}

// begins reports whether JSON has begun as an object: its brace and what
// follows.
func begins(args []byte) bool {
	rest := args[blanks(args):]
	return len(rest) > 0 && rest[0] == '{' && blanks(rest[1:])+1 < len(rest)
}

// flushArgs sends the arguments read so far, if the call can begin.
func (r *Reader) flushArgs() {
	c := &r.call
	if len(c.args) > MaxHeld {
		c.hold = false // the id will be our own
	}
	if c.name == "" || c.hold || !c.ready {
		return
	}
	r.startCall()
	r.sendArgs()
}

func (r *Reader) sendArgs() {
	c := &r.call
	if len(c.args) > 0 {
		if r.Format.Repeats && len(c.whole) <= MaxHeld {
			c.whole = append(c.whole, c.args...)
		}
		if !c.over {
			r.emit(Event{Kind: CallDelta, Call: c.number, Text: string(c.args)})
		}
		c.args = c.args[:0]
	}
}

// startCall sends the beginning of a call once.
func (r *Reader) startCall() {
	c := &r.call
	if c.started {
		return
	}
	r.commit()
	c.started, r.called = true, true
	c.whole = c.whole[:0]
	if c.over = r.ids >= MaxCalls; c.over {
		return
	}
	c.number = r.ids
	r.ids++
	if c.id == "" {
		c.id = r.newID()
	}
	r.emit(Event{Kind: CallStart, Call: c.number, Name: c.name, ID: c.id})
}

// endCall ends a call whose arguments are whole.
func (r *Reader) endCall() {
	c := &r.call
	c.hold = false
	if len(c.args) == 0 && !c.started {
		c.args = append(c.args, "{}"...)
	}
	if c.nested && !c.started && c.name == c.before && bytes.Equal(c.args, c.whole) {
		return // the call before, written again inside itself
	}
	r.startCall()
	r.sendArgs()
	if !c.over {
		r.emit(Event{Kind: CallEnd, Call: c.number})
	}
	c.before = c.name
}

// cutOff reports whether what the reply ends with is the beginning of a call,
// and not words after all: nothing behind the marker, a part of a tool's name,
// or an object with such a name.
func (r *Reader) cutOff() bool {
	c := &r.call
	if c.pc == 0 {
		return c.name != "" && r.known(c.name)
	}
	rest := string(bytes.TrimSpace(r.in))
	if rest == "" || c.name != "" {
		return true
	}
	switch p := &c.pieces[c.pc]; p.Kind {
	case Literal:
		return strings.HasPrefix(p.Text, rest)
	case ID, Skip:
		return true
	case Name, Calls, List:
		at, _, _ := p.stops.find(r.in, false)
		rest = string(bytes.TrimSpace(r.in[:at]))
		for name := range r.tools {
			if strings.HasPrefix(name, rest) {
				return true
			}
		}
		return r.tools == nil && isName([]byte(rest))
	}
	return false
}

// cutCall is for a call that the end of the reply cut off.
func (r *Reader) cutCall() {
	c := &r.call
	if !c.closed && c.name != "" && (len(c.args) > 0 || c.started) {
		c.hold = false
		r.startCall()
		r.sendArgs()
	}
}
