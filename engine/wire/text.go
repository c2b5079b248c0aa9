package wire

import "bytes"

// textStep reads thinking, or content, or the text after a message.
func (r *Reader) textStep() bool {
	set := &r.Syntax.content
	switch {
	case r.region == inThinking && r.opt.Form != FormNone:
		set = &r.formThinking
	case r.region == inThinking:
		set = &r.Syntax.thinking
	}
	if len(r.in) == 0 {
		return false
	}
	at, mark, is := set.find(r.in, r.last)
	if is == matchMaybe && at == 0 {
		return false
	}
	if r.last && r.region == inAfter && is == matchNo && set.cut(r.in) {
		r.eat(len(r.in)) // the marker of a call, cut off
		return false
	}
	if at > 0 || is == matchNo {
		r.say(r.in[:at])
		r.eat(at)
		return true
	}
	if n := r.mark(mark); n != 0 {
		return n > 0
	}
	// Here the marker is text.
	n := 1
	if r.in[0] == symbol {
		n = len(mark.text)
	}
	r.say(r.in[:n])
	r.eat(n)
	return true
}

// mark acts on the marker the input begins with. It returns 0 if the marker is
// text here, and -1 if it takes more bytes to decide.
func (r *Reader) mark(m marker) int {
	f := r.Format
	thinking := r.region == inThinking
	n := len(m.text)
	switch m.kind {
	case markThink:
		if !f.Think.Again && (r.said || r.thought) {
			return 0
		}
		r.thought = true
		r.turn(inThinking)
	case markThinkEnd:
		if !thinking && !f.Think.Again && (r.said || r.thought && f.Think.Close != "" && !r.fresh) {
			return 0
		}
		r.thought = true
		if thinking || !r.said {
			r.turn(inContent)
		}
	case markContent:
		r.turn(inContent)
	case markDrop:
	case markHide:
		r.region = inHidden
	case markEnd:
		r.endMessage()
	case markStart:
		r.endMessage()
		r.region = inHeader
	case markSection, markCall, markBare:
		return r.mayCall(m)
	}
	r.eat(n)
	return n
}

// mayCall begins the call the input begins with.
func (r *Reader) mayCall(m marker) int {
	f := r.Format
	if r.opt.NoCalls || f.Channel != nil && r.region != inAfter {
		return 0
	}
	if m.kind == markBare && (f.Bare == BareAtStart && r.said || m.arg > 0 && r.tools == nil) {
		return 0
	}
	if r.region == inThinking {
		if f.Inside == InsideLast && !r.last && len(r.in) < MaxHeld {
			// It is a call unless thinking goes on and is closed.
			from := max(0, r.suspect-len(r.think))
			if _, is := findText(r.in[from:], r.think, false); is != matchYes {
				r.suspect = len(r.in)
				return -1
			}
			r.suspect = 0
			return 0
		}
		if f.Inside == InsideLast {
			if _, is := findText(r.in, r.think, true); is == matchYes {
				return 0
			}
		}
		r.suspect = 0
		r.turn(inContent)
	}
	if m.kind == markSection {
		r.raw, r.keep = r.raw[:0], !isSpecial(f.Section.Open[m.arg])
		r.section, r.region = true, inGap
		r.eat(len(m.text))
		return len(m.text)
	}
	r.begin(m)
	return 1
}

// turn enters content or thinking.
func (r *Reader) turn(to region) {
	r.blank = r.blank[:0]
	r.region, r.fresh = to, true
}

// say is text of the region. White space at its end waits for what follows: it
// is dropped before a call and at the end of thinking.
func (r *Reader) say(text []byte) {
	if r.region == inThinking {
		r.write(Reasoning, text)
		return
	}
	r.content(text)
}

func (r *Reader) content(text []byte) { r.write(Content, text) }

func (r *Reader) write(kind Kind, text []byte) {
	if r.hidden {
		return
	}
	if kind == Content && r.opt.Form != FormNone && !r.called {
		r.said = true
		r.send(kind, r.plain(text))
		return
	}
	if r.fresh {
		text = text[blanks(text):]
	}
	if len(text) == 0 {
		return
	}
	if kind == Content && r.called && r.Format.Tail == TailDropped {
		return
	}
	body := bytes.TrimRight(text, " \n\t\r")
	if len(body) > 0 {
		r.fresh = false
		r.send(kind, r.blank)
		r.send(kind, r.plain(body))
		r.blank = r.blank[:0]
		if kind == Content {
			r.said = true
		}
	}
	r.blank = append(r.blank, text[len(body):]...)
	if len(r.blank) > MaxHeld {
		r.send(kind, r.blank)
		r.blank = r.blank[:0]
	}
}

func (r *Reader) flushBlank() {
	if !r.hidden && !r.fresh {
		r.send(Content, r.blank)
	}
	r.blank = r.blank[:0]
}

func (r *Reader) send(kind Kind, text []byte) {
	if len(text) == 0 {
		return
	}
	if kind == Content && r.opt.JSON {
		r.fence.write(r, text)
		return
	}
	r.emit(Event{Kind: kind, Text: string(text)})
}

// hiddenStep drops text.
func (r *Reader) hiddenStep() bool {
	at, m, is := r.hideEnd.find(r.in, r.last)
	r.eat(at)
	if is == matchYes {
		r.eat(len(m.text))
		r.region = inContent
		return true
	}
	return false
}

// A fence takes the code fence off content that is one JSON value.
type fence struct {
	state uint8 // 0 nothing was decided, 1 there is none, 2 inside, 3 behind it
	held  []byte
}

// fenceOpen are the first lines of a fence, without the line break.
var fenceOpen = [][]byte{[]byte("```json"), []byte("```")}

func (f *fence) write(r *Reader, text []byte) {
	f.held = append(f.held, text...)
	if f.state == 0 {
		f.held = f.held[blanks(f.held):]
		line, rest, whole := bytes.Cut(f.held, []byte("\n"))
		switch {
		case len(f.held) == 0 || !whole && bytes.HasPrefix(fenceOpen[0], line):
			return
		case whole && (bytes.Equal(line, fenceOpen[0]) || bytes.Equal(line, fenceOpen[1])):
			f.state, f.held = 2, rest
		default:
			f.state = 1
		}
	}
	if f.state == 2 {
		at, is := findText(f.held, "```", false)
		body := f.held[:at]
		if at <= MaxHeld {
			body = bytes.TrimRight(body, " \n\t\r")
		}
		f.out(r, body)
		f.held = f.held[len(body):]
		if is == matchYes {
			f.state = 3
		}
		return
	}
	if f.state == 1 {
		f.out(r, f.held)
	}
	f.held = f.held[:0]
}

func (f *fence) out(r *Reader, text []byte) {
	if len(text) > 0 {
		r.emit(Event{Kind: Content, Text: string(text)})
	}
}

func (f *fence) end(r *Reader) {
	if f.state < 3 {
		f.out(r, f.held)
	}
	f.held = nil
}
