package wire

import (
	"bytes"
	"slices"
	"strings"
)

// A Form says that a grammar holds the content to a form (see rules.Options), and so how
// it is read: what is no marker where it begins is content to the end, markers too. In
// thinking nothing counts but its end.
type Form uint8

const (
	FormNone Form = iota // any words
	FormText             // every byte counts
	FormJSON             // one JSON value: blanks before it do not count
)

// Openers are the texts any of which begins what stands in place of a form: a call of one
// of the tools as the first of Format.Call writes it. A text without a marker is written
// without blanks.
func (f *Format) Openers(tools []Tool) []string {
	switch {
	case f.Channel != nil || len(f.Call) == 0:
		return nil // the header of its message says what a call is
	case len(f.Section.Open) > 0:
		return f.Section.Open
	}
	if opener := f.Call[0].opener(); opener != "" {
		return []string{opener}
	}
	var out []string
	for _, t := range tools {
		switch f.Call[0].Elements()[0].Kind {
		case List:
			out = append(out, "["+t.Name+"(")
		case Objects:
			out = append(out, `[{"`+f.Keys.Name+`":"`+t.Name+`"`)
		default:
			out = append(out, `{"`+f.Keys.Name+`":"`+t.Name+`"`)
		}
	}
	return out
}

// addFormed adds the markers under a form, in thinking and where content begins.
func (s *Syntax) addFormed() {
	f, v := s.Format, s.vocab
	s.formThinking.add(v, markThinkEnd, f.Think.Close)
	if c := f.Channel; c != nil {
		s.formThinking.add(v, markEnd, c.Ends...)
		s.formThinking.add(v, markStart, c.Start)
		return
	}
	s.formed.add(v, markSection, f.Section.Open...)
	if len(f.Call) > 0 && len(f.Section.Open) == 0 {
		s.formed.addAt(v, markCall, 0, f.Call[0].opener())
	}
	s.formed.add(v, markThink, f.Think.Open...)
	for _, text := range f.Content {
		if f.Primed != "" || v.begins(text) {
			s.formed.add(v, markContent, text)
		}
	}
}

// begins reports whether a text begins with a special token.
func (v vocab) begins(text string) bool {
	return slices.ContainsFunc(v, func(t string) bool { return strings.HasPrefix(text, t) })
}

// formStep reads content that is held to a form. Where it begins thinking or a call may
// stand instead.
func (r *Reader) formStep() bool {
	if !r.said {
		if r.opt.Form == FormJSON {
			r.eat(blanks(r.in))
		}
		if len(r.in) == 0 {
			return false
		}
		m, is := r.formed.at(r.in, r.last)
		if is == matchNo {
			m, is = r.bareCall()
		}
		switch {
		case is == matchMaybe:
			return false
		case is == matchYes && r.formMark(m):
			return true
		}
	}
	n := bytes.IndexByte(r.in, symbol)
	switch n {
	case 0:
		n = 2 // the end of the reply: another special token there is not
	case -1:
		n = len(r.in)
		fallthrough
	default:
		r.content(r.in[:n])
	}
	r.eat(n)
	return true
}

// formMark acts on the marker the input begins with, unless it is text.
func (r *Reader) formMark(m marker) bool {
	switch m.kind {
	case markThink:
		return !r.thought && !r.opt.NoThinking && r.mark(m) > 0
	case markContent:
		r.said = true
		return r.mark(m) > 0
	}
	return r.mayCall(m) > 0
}

// bareCall reports whether the input begins a call without a marker: with one of the
// Openers, blanks apart.
func (r *Reader) bareCall() (marker, match) {
	if r.opt.NoCalls || !r.Format.OpensBare() {
		return marker{}, matchNo
	}
	head := r.in[:min(len(r.in), maxGap)]
	text := make([]byte, 0, len(head))
	for _, c := range head {
		if !isBlank(c) {
			text = append(text, c)
		}
	}
	out := matchNo
	for _, opener := range r.Format.Openers(r.opt.Tools) {
		switch _, is := prefixed(text, opener, r.last || len(head) == maxGap); is {
		case matchYes:
			return marker{kind: markBare}, matchYes
		case matchMaybe:
			out = matchMaybe
		}
	}
	return marker{}, out
}

// OpensBare reports whether the usual call has no marker.
func (f *Format) OpensBare() bool {
	return f.Channel == nil && len(f.Section.Open) == 0 && len(f.Call) > 0 && f.Call[0].opener() == ""
}
