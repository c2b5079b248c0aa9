package wire

import (
	"slices"
	"strings"
)

// commit makes the call certain: text after it is never content.
func (r *Reader) commit() {
	r.call.begun, r.keep = true, false
	r.raw = r.raw[:0]
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

// afterCall enters the region after a call.
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

// wrong is for bytes that do not fit the call. They are content if the call has
// no events yet, else it is skipped. As a step it reports that there is more to do: true.
func (r *Reader) wrong() bool {
	if r.tentative() {
		r.giveUp()
		return true
	}
	r.keep = false
	r.call.closed = true
	r.region = inSkip
	return true
}

// giveUp makes content of text that looked like a call. A marker that is a special
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

// gapStep reads the text between the calls of a section.
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

// skipStep drops the rest of a malformed call, up to the end of the
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
