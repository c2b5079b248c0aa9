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
	b, c := m.b, m.f.Channel
	var stops []string
	for _, s := range append(slices.Clone(c.Ends), c.Start) {
		if !m.hasToken(s) {
			stops = append(stops, s)
		}
	}
	message := func(regions ...wire.Region) *grammar.Node {
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
		return b.Seq(head, m.text(c.Message), b.Text(stops...))
	}
	var ends []*grammar.Node
	for _, s := range c.Ends {
		ends = append(ends, m.text(s))
	}
	end := b.Alt(ends...)
	before := b.Repeat(b.Seq(message(wire.RegionThinking), end, m.text(c.Start)), 0, grammar.Unbounded)
	if m.o.Required {
		return b.Seq(before, calls)
	}
	any := message(wire.RegionThinking, wire.RegionContent)
	return b.Alt(
		b.Seq(any, b.Repeat(b.Seq(end, m.text(c.Start), any), 0, grammar.Unbounded), b.Opt(end)),
		b.Seq(b.Repeat(b.Seq(any, end, m.text(c.Start)), 0, grammar.Unbounded), calls),
	)
}

// messages are calls that are messages of their own.
func (m *maker) messages() ([]*grammar.Node, error) {
	b, c := m.b, m.f.Channel
	var each []*grammar.Node
	for _, tool := range m.o.Tools {
		var n *grammar.Node
		if c.Args {
			args, err := m.args(tool)
			if err != nil {
				return nil, err
			}
			n = b.Seq(m.text(c.Name), b.Literal("commentary to="), m.text(c.Prefix+tool.Name),
				b.Opt(b.Literal(" ")), b.Opt(b.Seq(m.text(c.Constrain), b.Literal("json"))), m.text(c.Message), args)
		} else {
			call, err := m.pattern(m.f.Call[0], tool)
			if err != nil {
				return nil, err
			}
			newline := b.Opt(b.Literal("\n"))
			n = b.Seq(b.Literal(" to="+tool.Name), m.text(c.Message), m.text(m.f.Section.Open[0]), newline, call, newline, m.text(m.f.Section.Close[0]))
		}
		each = append(each, n)
	}
	call := b.Alt(each...)
	// What ends a message with a call may be the end of the reply.
	end := m.text(c.Ends[min(1, len(c.Ends)-1)])
	if !c.Args {
		end = m.text(c.Ends[0])
	}
	if m.o.Single {
		return []*grammar.Node{b.Seq(call, b.Opt(end))}, nil
	}
	return []*grammar.Node{b.Seq(call, b.Repeat(b.Seq(end, m.text(c.Start), call), 0, wire.MaxCalls-1), b.Opt(end))}, nil
}
