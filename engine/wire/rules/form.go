package rules

import (
	"quern/engine/grammar"
	"quern/engine/wire"
)

// formed is a reply whose words are held to a form: thinking, then the form or calls. It
// is read as wire.Options.Form says: blanks may stand before a value of JSON only, where
// they do not count.
func (m *maker) formed(calls []*grammar.Node) *grammar.Node {
	b, f := m.b, m.f
	if f.Channel != nil {
		return m.formedMessages(calls)
	}
	var marks []*grammar.Node
	for _, text := range f.Content {
		switch {
		case f.Primed != "":
			marks = append(marks, b.Literal(m.first(text)))
		case m.opensWithToken(text):
			marks = append(marks, m.text(text))
		}
	}
	form := m.o.Words
	switch {
	case f.Primed != "":
		form = b.Seq(b.Alt(marks...), form)
	case marks != nil:
		form = b.Seq(b.Opt(b.Alt(marks...)), form)
	}
	return m.thinking(b.Seq(m.lead(), b.Alt(append([]*grammar.Node{form}, calls...)...)))
}

// opensWithToken reports whether a marker begins with a special token.
func (m *maker) opensWithToken(text string) bool {
	texts, tokens := m.cut(text)
	return len(tokens) > 0 && texts[0] == ""
}

// formedMessages is formed for messages with headers: any number with thinking, then one
// with the form, or with calls.
func (m *maker) formedMessages(calls []*grammar.Node) *grammar.Node {
	b := m.b
	last := b.Alt(append([]*grammar.Node{b.Seq(m.head(wire.RegionContent), m.o.Words)}, calls...)...)
	if m.o.Thinking {
		return b.Seq(m.inMessage(), m.ends(), m.text(m.f.Channel.Start), m.thoughts(), last)
	}
	return b.Seq(m.thoughts(), last)
}

// An Opener is the beginning of a text: Texts with Tokens between them.
type Opener struct {
	Texts  []string
	Tokens []int32
}

// Openers are the texts and tokens any of which begins a reply that is not of the form
// that its words are held to: thinking, and calls.
func Openers(f *wire.Format, o Options) (thinking, calls []Opener) {
	m := &maker{f: f, o: o}
	cut := func(text string) Opener {
		texts, tokens := m.cut(text)
		return Opener{texts, tokens}
	}
	if f.Channel != nil {
		return nil, nil // headers say what it is
	}
	if o.MayThink && !o.Thinking {
		for _, text := range f.Think.Open {
			thinking = append(thinking, cut(text))
		}
	}
	if len(o.Tools) > 0 {
		for _, text := range f.Openers(o.Tools) {
			calls = append(calls, cut(text))
		}
	}
	return thinking, calls
}
