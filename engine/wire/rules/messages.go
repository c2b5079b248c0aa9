package rules

import (
	"maps"
	"slices"

	"quern/engine/grammar"
	"quern/engine/wire"
)

// inMessages is a reply made of messages with headers: words in any of them,
// and calls behind those.
func (m *maker) inMessages(calls *grammar.Node) *grammar.Node {
	b, start := m.b, m.text(m.f.Channel.Start)
	if m.o.Required {
		return b.Seq(m.thoughts(), calls)
	}
	regions := []wire.Region{wire.RegionContent}
	if m.o.MayThink {
		regions = append(regions, wire.RegionThinking)
	}
	any := m.message(regions...)
	return b.Alt(
		b.Seq(any, b.Repeat(b.Seq(m.ends(), start, any), 0, grammar.Unbounded), b.Opt(m.ends())),
		b.Seq(b.Repeat(b.Seq(any, m.ends(), start), 0, grammar.Unbounded), calls),
	)
}

// thoughts are any number of messages with thinking, up to the header of the next; none
// where the reply may not think.
func (m *maker) thoughts() *grammar.Node {
	b := m.b
	if !m.o.MayThink {
		return b.Seq()
	}
	return b.Repeat(b.Seq(m.message(wire.RegionThinking), m.ends(), m.text(m.f.Channel.Start)), 0, grammar.Unbounded)
}

// message is one of the regions.
func (m *maker) message(regions ...wire.Region) *grammar.Node {
	return m.b.Seq(m.head(regions...), m.inMessage())
}

// head is the header of a message of one of the regions.
func (m *maker) head(regions ...wire.Region) *grammar.Node {
	b, c := m.b, m.f.Channel
	var heads []*grammar.Node
	for _, name := range slices.Sorted(maps.Keys(c.Names)) {
		if slices.Contains(regions, c.Names[name]) {
			heads = append(heads, b.Seq(m.text(c.Name), b.Literal(name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.To)) {
		if slices.Contains(regions, c.To[name]) {
			heads = append(heads, b.Literal(" to="+name))
		}
	}
	head := b.Alt(heads...)
	if c.Constrain != "" {
		head = b.Seq(head, b.Opt(b.Seq(b.Opt(b.Literal(" ")), m.text(c.Constrain), b.Literal("json"))))
	}
	return b.Seq(head, m.text(c.Message))
}

// inMessage is the text of a message.
func (m *maker) inMessage() *grammar.Node {
	c := m.f.Channel
	var stops []string
	for _, s := range append(slices.Clone(c.Ends), c.Start) {
		if !m.hasToken(s) && !m.endsReply(s) {
			stops = append(stops, s)
		}
	}
	return m.b.Text(stops...)
}

// ends is the end of a message that is not the last.
func (m *maker) ends() *grammar.Node {
	var ends []*grammar.Node
	for _, s := range m.f.Channel.Ends {
		if !m.endsReply(s) {
			ends = append(ends, m.text(s))
		}
	}
	return m.b.Alt(ends...)
}

func (m *maker) endsReply(text string) bool { return m.o.Ends != nil && m.o.Ends(text) }

// messages are calls that are messages of their own.
func (m *maker) messages() ([]*grammar.Node, error) {
	b, c := m.b, m.f.Channel
	call, err := m.each(func(tool wire.Tool) (*grammar.Node, error) {
		if c.Args {
			args, err := m.args(tool)
			if err != nil {
				return nil, err
			}
			return b.Seq(m.text(c.Name), b.Literal("commentary to="), m.text(c.Prefix+tool.Name),
				b.Opt(b.Literal(" ")), b.Opt(b.Seq(m.text(c.Constrain), b.Literal("json"))), m.text(c.Message), args), nil
		}
		call, err := m.pattern(m.f.Call[0], tool)
		if err != nil {
			return nil, err
		}
		newline := b.Opt(b.Literal("\n"))
		return b.Seq(b.Literal(" to="+tool.Name), m.text(c.Message), m.text(m.f.Section.Open[0]), newline, call, newline, m.text(m.f.Section.Close[0])), nil
	})
	if err != nil {
		return nil, err
	}
	// What ends a message with a call mostly ends the reply too. Where another call
	// follows, it is what ends any message.
	end := m.ends()
	if m.o.Single {
		return []*grammar.Node{b.Seq(call, b.Opt(end))}, nil
	}
	return []*grammar.Node{b.Seq(call, b.Repeat(b.Seq(end, m.text(c.Start), call), 0, wire.MaxCalls-1), b.Opt(end))}, nil
}
