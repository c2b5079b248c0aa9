package wire

import (
	"bytes"
	"strings"
)

// A call is a reader's state of the call it is in.
type call struct {
	index  int // of the pattern
	pieces []piece
	pc     int
	begun  bool // it is no text any more, even if it is malformed
	closed bool // it is whole; only closing markers are missing
	nested bool // it began where the end of another was missing

	name, id string
	ready    bool // the name is known, and that the arguments are an object
	started  bool // CallStart was sent
	over     bool // it is one too many, and has no events
	hold     bool // until the id or all of it is known
	args     []byte
	number   int    // index among the reply's calls
	before   string // name of the call before
	whole    []byte // its arguments, where calls may be repeated

	val    transcoder
	object object
	params params
	python uint8
}

// begin begins the call a marker announces.
func (r *Reader) begin(m marker) {
	r.newCall()
	c := &r.call
	c.index, c.pieces, c.pc = m.arg, r.calls[m.arg], 0
	c.nested = r.Format.Repeats && r.unclosed
	c.hold = c.hold || c.nested
	r.unclosed = false
	c.object = object{}
	c.params = params{frames: c.params.frames[:0]}
	c.python = 0
	c.begun = false
	r.region = inCall
	if !r.section {
		r.raw = r.raw[:0]
	}
	// In a section the marker it begins with is kept until the first call.
	r.keep = !r.section || len(r.raw) > 0
	if m.kind != markBare {
		r.eat(len(m.text))
		c.pc = 1
		if isSpecial(r.Format.Call[m.arg].opener()) && r.Format.Bare == BareNever {
			// The marker is no word. Where nothing says how far a call goes
			// that went wrong, the rest is.
			r.raw = r.raw[:0]
			if len(closers(c.pieces)) > 0 {
				r.commit()
			}
		}
	}
}

// isSpecial reports whether a marker looks like a special token, which is not
// written as a word.
func isSpecial(text string) bool {
	return strings.Contains(text, "<|") || strings.Contains(text, "|>") || strings.Contains(text, "｜") || strings.HasPrefix(text, "[")
}

// newCall forgets the call before, but not where its pattern is.
func (r *Reader) newCall() {
	c := &r.call
	c.name, c.id, c.ready, c.started, c.closed = "", "", false, false, false
	c.hold = r.Format.Keys.IDLast
	c.args = c.args[:0]
	c.val.dialect = r.Format.Dialect
	c.val.reset()
}

// callStep reads some of a call.
func (r *Reader) callStep() bool {
	c := &r.call
	if r.keep && len(r.raw) > MaxHeld {
		r.giveUp()
		return true
	}
	if c.closed {
		return r.closing()
	}
	if c.pc >= len(c.pieces) {
		c.closed = true
		return true
	}
	p := &c.pieces[c.pc]
	switch p.Kind {
	case Literal:
		return r.literal(p)
	case Name, ID, Skip:
		return r.capture(p)
	case Args:
		return r.wholeArgs()
	case Params:
		return r.paramsStep()
	case Object, Objects:
		return r.objectStep()
	}
	return r.pythonStep()
}

// literal reads one of the pattern's literals.
func (r *Reader) literal(p *piece) bool {
	c := &r.call
	if n := blanks(r.in); n > 0 && !p.Optional {
		r.eat(n)
		return true
	}
	n, is := prefixed(r.in, p.Text, r.last)
	switch {
	case is == matchYes:
		r.eat(n)
		c.pc++
	case is == matchMaybe || len(r.in) == 0 || r.last && !p.Optional && strings.HasPrefix(p.Text, string(r.in)):
		return false
	case p.Optional:
		c.pc += 2
	case r.in[0] == '{' && c.pc+1 < len(c.pieces) && c.pieces[c.pc+1].Kind == Args:
		c.pc++ // without the fence
	default:
		r.wrong()
	}
	return true
}

// capture reads a name, an id or unused text.
func (r *Reader) capture(p *piece) bool {
	c := &r.call
	at, _, is := p.stops.find(r.in, r.last)
	text := bytes.TrimSpace(r.in[:at])
	if is != matchYes {
		if len(text) > MaxName {
			return r.wrong()
		}
		if r.last {
			return false
		}
		// A text that cannot be a name is detected before it ends.
		if p.Kind == Name && !isName(text) && len(text) > 0 && r.Format.Channel == nil {
			return r.wrong()
		}
		return false
	}
	if len(text) > MaxName {
		return r.wrong()
	}
	word := string(r.plain(text))
	switch p.Kind {
	case Name:
		if len(text) == 0 && at < len(r.in) && r.in[at] == '{' {
			// An object where other models of the family write a name.
			c.pieces = append([]piece{{Element: Element{Kind: Object}}}, closers(c.pieces[c.pc:])...)
			c.pc = 0
			return true
		}
		name := r.resolve(word)
		if !isName([]byte(name)) || c.index > 0 && !r.known(name) {
			return r.wrong()
		}
		c.name = name
		r.commit()
	case ID:
		c.id = word
		if r.Format.ID == IDNamed {
			c.name = r.resolve(nameOfID(word))
			if !isName([]byte(c.name)) {
				return r.wrong()
			}
			r.commit()
		}
	}
	r.eat(at)
	c.pc++
	if c.name != "" && c.pc < len(c.pieces) && c.pieces[c.pc].Kind == Params && len(r.in) > 0 && r.in[0] == '{' {
		c.pieces = append([]piece{{Element: Element{Kind: Args}}}, closers(c.pieces[c.pc:])...)
		c.pc = 0
	}
	return true
}

// closers are the literals a pattern ends with.
func closers(rest []piece) []piece {
	i := len(rest)
	for i > 0 && rest[i-1].Kind == Literal && !rest[i-1].Optional {
		i--
	}
	return rest[i:]
}

// isName reports whether text may name a tool: no blanks, no quotes, no
// brackets.
func isName(text []byte) bool {
	return len(text) > 0 && len(text) <= MaxName && !bytes.ContainsAny(text, " \n\t\r\"'<>{}[]()") && bytes.IndexByte(text, symbol) < 0
}

// nameOfID is the name in functions.NAME:INDEX.
func nameOfID(id string) string {
	name := strings.TrimPrefix(id, "functions.")
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[:i]
	}
	return name
}

// known reports whether there is a tool of that name, or no tools are known.
func (r *Reader) known(name string) bool {
	return r.tools == nil || r.tools[name] != nil
}

// wholeArgs reads arguments written as one value.
func (r *Reader) wholeArgs() bool {
	c := &r.call
	if len(c.val.open) == 0 && len(c.val.out) == 0 && len(c.args) == 0 {
		if n := blanks(r.in); n > 0 {
			r.eat(n)
			return true
		}
		if len(r.in) == 0 {
			return false
		}
		if r.in[0] != '{' {
			// No arguments at all, where the call is closed at once.
			switch _, is := r.closer(r.in); is {
			case matchMaybe:
				return false
			case matchYes:
				r.endCall()
				c.closed = true
				return true
			}
			return r.wrong()
		}
	}
	switch r.value() {
	case done:
		r.endCall()
		c.closed = true
		c.pc++
	case bad:
		r.wrong()
	case more:
		return false
	}
	return true
}
