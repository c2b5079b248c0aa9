package wire

import (
	"slices"
	"strings"
)

// A markerKind is the effect of a marker in text.
type markerKind uint8

const (
	markThink markerKind = iota
	markThinkEnd
	markContent
	markDrop
	markHide
	markSection
	markCall
	markBare
	markEnd   // of a message of a channel
	markStart // of a header of a channel
)

// A piece is an Element as a reader uses it: the literal in the reader's bytes,
// without white space around it.
type piece struct {
	Element
	stops markers // markers that may follow a captured text
}

// A Syntax is a Format with one vocabulary: which of its markers are special
// tokens. It does not change and serves any number of readers.
type Syntax struct {
	Format *Format

	vocab        vocab
	content      markers // markers in content, and in thinking
	thinking     markers
	formed       markers // the same under a form
	formThinking markers
	calls        [][]piece
	param        []piece
	close        []string // of the section
	hideEnd      markers
	skipTo       markers // markers that end a malformed call
	starts       markers // of a call, inside a section
	ends         markers // of a channel's message
	think        string
	quotes       string
	message      string
	paramOpen    string
}

// NewSyntax prepares a format for a vocabulary. special reports whether a text
// is one special token; a marker or a part of one that is a special token is
// recognised only as that (see Reader.Special), and text that spells it is
// text. nil means that there are no special tokens.
func NewSyntax(f *Format, special func(string) bool) *Syntax {
	s := &Syntax{Format: f, vocab: newVocab(f.texts(), special)}
	v := s.vocab
	for _, m := range []*markers{&s.content, &s.thinking} {
		m.add(v, markThinkEnd, f.Think.Close)
		m.add(v, markContent, f.Content...)
		m.add(v, markDrop, f.Drop...)
		if m == &s.content || f.Inside != InsideText {
			m.add(v, markSection, f.Section.Open...)
		}
		if c := f.Channel; c != nil {
			m.add(v, markEnd, c.Ends...)
			m.add(v, markStart, c.Start)
		}
	}
	s.content.add(v, markThink, f.Think.Open...)
	s.content.add(v, markHide, f.Hide.Open...)
	s.hideEnd.add(v, markHide, f.Hide.Close...)
	if c := f.Channel; c != nil {
		s.ends.add(v, markEnd, c.Ends...)
		s.ends.add(v, markStart, c.Start)
		s.skipTo.add(v, markEnd, c.Ends...)
		s.skipTo.add(v, markStart, c.Start)
		s.message = v.encode(c.Message)
	}
	s.think = v.encode(f.Think.Close)
	s.quotes = v.encode(f.Quotes)
	s.param = s.pieces(f.Param)
	if len(s.param) > 0 {
		s.paramOpen = s.param[0].Text
	}
	for _, text := range f.Section.Close {
		s.close = append(s.close, v.encode(text))
	}
	s.skipTo.add(v, markSection, f.Section.Close...)
	for i, p := range f.Call {
		pieces := s.pieces(p)
		opener := p.opener()
		switch {
		case opener != "":
			s.starts.addAt(v, markCall, i, opener)
			s.skipTo.addAt(v, markCall, i, opener)
			s.content.addAt(v, markCall, i, opener)
			if f.Inside != InsideText {
				s.thinking.addAt(v, markCall, i, opener)
			}
		case pieces[0].Kind == List:
			s.content.addAt(v, markBare, i, "[")
		default:
			s.content.addAt(v, markBare, i, "{", "[")
		}
		if last := pieces[len(pieces)-1]; last.Kind == Literal && len(pieces) > 1 {
			s.skipTo.addAt(v, markDrop, i, last.Text)
		}
		s.calls = append(s.calls, pieces)
	}
	s.addFormed()
	return s
}

// addAt adds markers that stand for the same thing.
func (m *markers) addAt(v vocab, kind markerKind, arg int, texts ...string) {
	for _, text := range texts {
		before := len(m.list)
		m.add(v, kind, text)
		if len(m.list) > before {
			i := slices.IndexFunc(m.list, func(o marker) bool { return o.text == v.encode(text) })
			m.list[i].arg = arg
		}
	}
}

// pieces takes a pattern apart for reading.
func (s *Syntax) pieces(p Pattern) []piece {
	var out []piece
	for _, e := range p.Elements() {
		if e.Kind != Literal || e.Optional {
			e.Text = s.vocab.encode(e.Text)
			out = append(out, piece{Element: e})
			continue
		}
		for _, text := range tags(e.Text) {
			if text = strings.Trim(text, " \n\t\r"); text != "" {
				out = append(out, piece{Element: Element{Text: s.vocab.encode(text)}})
			}
		}
	}
	for i := range out {
		switch out[i].Kind {
		case Name, ID, Key, Type, Skip:
			s.addStops(&out[i].stops, out[i+1:])
		}
	}
	return out
}

// addStops adds markers that may follow a captured text.
func (s *Syntax) addStops(m *markers, rest []piece) {
	for i, p := range rest {
		switch p.Kind {
		case Literal:
			m.add(nil, markDrop, p.Text)
			if !p.Optional {
				if i+1 < len(rest) && rest[i+1].Kind == Args {
					m.add(nil, markDrop, "{") // the literal is missing
				}
				return
			}
		case Params:
			m.add(nil, markDrop, "{", s.vocab.encode(s.Format.Param.opener()))
			for _, o := range rest[i+1:] {
				m.add(nil, markDrop, o.Text)
			}
			return
		case Args:
			m.add(nil, markDrop, "{")
			return
		}
	}
}
