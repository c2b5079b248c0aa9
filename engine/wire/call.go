package wire

import (
	"bytes"
	"slices"
	"strings"
)

// A call is what a reader knows of the call it is in.
type call struct {
	index  int // of the pattern
	pieces []piece
	pc     int
	begun  bool // it is no text any more, even if it goes wrong
	closed bool // it is whole; only closing markers are missing
	nested bool // it began where the end of another was missing

	name, id string
	ready    bool // the name is known, and that the arguments are an object
	started  bool // CallStart was sent
	over     bool // it is one too many, and not told
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

// isSpecial reports whether a marker looks like a special token, which nobody
// writes as a word.
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
	default:
		r.wrong()
	}
	return true
}

// capture reads a name, an id or what nobody asks for.
func (r *Reader) capture(p *piece) bool {
	c := &r.call
	at, _, is := p.stops.find(r.in, r.last)
	text := bytes.TrimSpace(r.in[:at])
	if is != matchYes {
		if len(text) > MaxName {
			r.wrong()
			return true
		}
		if r.last {
			return false
		}
		// What cannot be a name is known before it ends.
		if p.Kind == Name && !isName(text) && len(text) > 0 && r.Format.Channel == nil {
			r.wrong()
			return true
		}
		return false
	}
	if len(text) > MaxName {
		r.wrong()
		return true
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
			r.wrong()
			return true
		}
		c.name = name
		r.commit()
	case ID:
		c.id = word
		if r.Format.ID == IDNamed {
			c.name = r.resolve(nameOfID(word))
			if !isName([]byte(c.name)) {
				r.wrong()
				return true
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

// commit says that the call is one: what follows is never content.
func (r *Reader) commit() {
	r.call.begun, r.keep = true, false
	r.raw = r.raw[:0]
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
			r.wrong()
			return true
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

// closer reports whether buf begins with one of the literals that are left of
// the pattern, and how many pieces of it that takes.
func (r *Reader) closer(buf []byte) (int, match) {
	c := &r.call
	maybe := false
	for i := c.pc; i < len(c.pieces); i++ {
		if p := &c.pieces[i]; p.Kind == Literal && !p.Optional {
			switch _, is := prefixed(buf, p.Text, r.last); is {
			case matchYes:
				return i, matchYes
			case matchMaybe:
				maybe = true
			}
		}
	}
	if maybe {
		return 0, matchMaybe
	}
	return 0, matchNo
}

// closing reads the markers behind a whole call. Any of them may be missing.
func (r *Reader) closing() bool {
	c := &r.call
	n := blanks(r.in)
	sep := strings.TrimSpace(r.Format.Sep)
	if r.Format.Bare == BareAtStart && sep != "" {
		switch size, is := prefixed(r.in[n:], sep, r.last); {
		case n == len(r.in) && !r.last && n < maxGap:
			return false
		case is == matchYes:
			r.eat(n + size)
			r.afterCall()
			return true
		}
	}
	left := false
	for _, p := range c.pieces[min(c.pc, len(c.pieces)):] {
		left = left || p.Kind == Literal
	}
	if left {
		if n == len(r.in) && !r.last && n < maxGap {
			return false
		}
		switch i, is := r.closer(r.in[n:]); {
		case n == len(r.in):
			// So many blanks, or the end: there is no marker.
		case is == matchNo && r.last && r.cutCloser(r.in[n:]):
			r.eat(len(r.in))
		case is == matchMaybe:
			return false
		case is == matchYes:
			r.eat(n + len(c.pieces[i].Text))
			c.pc = i + 1
			return true
		}
		r.unclosed = c.pc == 0 || c.pieces[c.pc-1].Kind != Literal
	}
	r.keep = false
	r.afterCall()
	return true
}

// afterCall goes on behind a call.
func (r *Reader) afterCall() {
	switch {
	case r.section:
		r.region = inGap
	case r.Format.Channel != nil:
		r.region = inAfter
	default:
		r.region = inContent
	}
	// Where calls have no marker another may follow at once.
	r.said, r.thought = r.Format.Bare != BareAtStart, true
}

// wrong is for bytes that do not fit the call. They are content if nothing of
// it was told yet, else it is skipped.
func (r *Reader) wrong() {
	c := &r.call
	if r.keep && !c.begun {
		r.giveUp()
		return
	}
	r.keep = false
	c.closed = true
	r.region = inSkip
}

// giveUp makes content of what looked like a call. A marker that is a special
// token is no content.
func (r *Reader) giveUp() {
	r.keep = false
	r.section = false
	raw := r.raw
	for len(raw) >= 2 && raw[0] == symbol {
		raw = raw[2:]
	}
	r.region = inContent
	r.content(raw)
	r.raw = r.raw[:0]
	r.call.closed = true
}

// gapStep reads what stands between the calls of a section.
func (r *Reader) gapStep() bool {
	if n := blanks(r.in); n > 0 {
		r.eat(n)
		return true
	}
	if len(r.in) == 0 {
		return false
	}
	maybe := false
	for _, text := range r.Syntax.close {
		n, is := prefixed(r.in, text, r.last)
		if is == matchYes {
			r.eat(n)
			r.section, r.keep, r.region = false, false, inContent
			r.raw = r.raw[:0]
			if r.Format.Channel != nil {
				r.region = inAfter
			}
			return true
		}
		maybe = maybe || is == matchMaybe
	}
	m, is := r.starts.at(r.in, r.last)
	switch {
	case is == matchYes:
		r.begin(m)
		return true
	case is == matchMaybe || maybe:
		return false
	case r.last && r.cutMarker():
		r.eat(len(r.in))
		r.keep = false
		return false
	}
	if m, is := r.ends.at(r.in, r.last); is == matchMaybe {
		return false
	} else if is == matchYes {
		r.section = false
		return r.mark(m) > 0
	}
	if r.keep {
		r.eat(1)
		r.giveUp()
		return true
	}
	r.region = inSkip
	return true
}

// cutMarker reports whether the reply ends inside a marker of the section.
func (r *Reader) cutMarker() bool {
	is := func(text string) bool { return strings.HasPrefix(text, string(r.in)) }
	return slices.ContainsFunc(r.Syntax.close, is) || r.starts.cut(r.in)
}

// skipStep drops what is left of a call that went wrong, up to the end of the
// section, the marker a call ends with, or the next call.
func (r *Reader) skipStep() bool {
	at, m, is := r.skipTo.find(r.in, r.last)
	r.eat(at)
	if is != matchYes {
		return false
	}
	switch m.kind {
	case markSection:
		r.section = false
		r.region = inContent
	case markCall:
		r.begin(m)
		return true
	case markEnd, markStart:
		r.section = false
		return r.mark(m) > 0
	default:
		r.afterCall()
	}
	r.eat(len(m.text))
	return true
}
