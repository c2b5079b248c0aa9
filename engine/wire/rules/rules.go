// Package rules makes grammars of wire formats: the texts a model may write so that
// the reader of the same row reads a call of a tool that exists, with arguments
// that fit its schema.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quern/engine/grammar"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
)

// ErrUnsupported is wrapped by errors about formats that have no calls.
var ErrUnsupported = errors.New("the format has no calls, so that none can be asked for")

// A ToolError is an error of one tool, whose calls cannot be written.
type ToolError struct {
	Tool int // index in Options.Tools
	Err  error
}

func (e *ToolError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ToolError) Unwrap() error { return e.Err }

// Options restrict the replies.
type Options struct {
	Tools []wire.Tool
	// Required says that a call has to come, at once or after thinking.
	Required bool
	// Single says that nothing follows the first call.
	Single bool
	// Thinking says that the prompt opened thinking. MayThink says that the
	// reply may open it.
	Thinking, MayThink bool
	// Primed says that the prompt ends with the beginning of a marker
	// (wire.Format.Primed).
	Primed bool
	// Words, if not nil, stand in place of words and calls, Form says what they are.
	// Calls may stand in their place, but not beside them.
	Words *grammar.Node
	Form  wire.Form
	// Token returns the special token that a text is, as in wire.NewSyntax. nil
	// means that there are none.
	Token func(text string) (id int32, ok bool)
	// Ends reports whether a text is a token that ends the reply, and so stands
	// nowhere in it. nil means that none does.
	Ends func(text string) bool
	// Name begins the names of the rules.
	Name string
}

// Add builds the replies of a format. The notes name what of the tools' schemas
// was read as a comment. Errors of one tool, which wrap those of schema.Add, are *ToolErrors;
// others wrap ErrUnsupported.
func Add(b *grammar.Builder, f *wire.Format, o Options) (*grammar.Node, []string, error) {
	m := &maker{b: b, f: f, o: o}
	var calls []*grammar.Node
	if len(o.Tools) > 0 || o.Words == nil {
		var err error
		if calls, err = m.calls(); err != nil {
			return nil, nil, err
		}
	}
	if o.Words != nil {
		return m.formed(calls), m.notes, nil
	}
	return m.reply(calls), m.notes, nil
}

type maker struct {
	b     *grammar.Builder
	f     *wire.Format
	o     Options
	notes []string
	count int           // of names
	read  int           // bytes of schemas of single arguments
	call  *grammar.Node // one of any tool, with its marker

	syntax *wire.Syntax // without special tokens; nil until it is asked for
}

// name returns a name no rule has yet.
func (m *maker) name(what string) string {
	m.count++
	return fmt.Sprintf("%swire%d-%s", m.o.Name, m.count, what)
}

// reply is thinking, then words in which calls may stand.
func (m *maker) reply(calls []*grammar.Node) *grammar.Node {
	b := m.b
	switch {
	case m.f.Channel != nil:
		return m.inMessages(b.Alt(calls...))
	case m.o.Primed:
		return m.primed(calls)
	}
	var stops []string
	for _, s := range m.f.Triggers() {
		if !m.hasToken(s) {
			stops = append(stops, s)
		}
	}
	bare := m.f.Bare != wire.BareNever && m.f.OpensBare()
	words := m.words(b.Text(stops...))
	if bare {
		// A call without a marker stands at the beginning only; words begin
		// otherwise.
		anything := grammar.Star(grammar.AnyByte())
		words = b.Lexeme(grammar.And(anything, grammar.Not(grammar.Concat(grammar.Star(blank), grammar.Or(grammar.Lit("{"), grammar.Lit("[")), anything))))
	}
	call := b.Alt(calls...)
	rest := b.Seq()
	switch {
	case m.o.Single:
	case bare:
		rest = words
	default:
		again := b.Rule(m.name("words"))
		b.Define(again, b.Alt(words, b.Seq(words, call, again)))
		rest = again
	}
	called := b.Seq(call, rest)
	var body *grammar.Node
	switch {
	case m.o.Required:
		body = b.Seq(m.gap(), called)
	case bare:
		body = b.Alt(words, b.Seq(m.gap(), called))
	default:
		body = b.Alt(words, b.Seq(words, called))
	}
	return m.thinking(body)
}

// thinking is body, with thinking before it where there may be some.
func (m *maker) thinking(body *grammar.Node) *grammar.Node {
	b, think := m.b, m.f.Think
	if think.Close == "" || !m.o.Thinking && !m.o.MayThink {
		return body
	}
	var inside []string
	if !m.hasToken(think.Close) {
		inside = []string{think.Close}
	}
	rests := b.Seq(b.Text(inside...), m.text(think.Close), body)
	if m.o.Thinking {
		return rests
	}
	if len(think.Open) == 0 {
		return body
	}
	return b.Alt(body, b.Seq(m.lead(), m.text(think.Open[0]), rests))
}

// lead is white space that a reply may begin with.
func (m *maker) lead() *grammar.Node {
	if m.o.Form == wire.FormText || m.o.Primed {
		return m.b.Seq()
	}
	return m.gap()
}

// primed is a reply whose marker the prompt has begun: an answer, which calls may follow, or
// calls.
func (m *maker) primed(calls []*grammar.Node) *grammar.Node {
	b := m.b
	if m.o.Required {
		return b.Alt(calls...)
	}
	answer := b.Seq(b.Literal(m.first(m.f.Content[0])), b.Text(m.f.Primed))
	most := wire.MaxCalls
	if m.o.Single {
		most = 1
	}
	return b.Alt(append(calls, b.Seq(answer, b.Repeat(m.call, 0, most)))...)
}

// calls are the calls of a reply, with what stands around them: one node for
// each marker of a section.
func (m *maker) calls() ([]*grammar.Node, error) {
	if m.f.Channel != nil {
		return m.messages()
	}
	if len(m.f.Call) == 0 {
		return nil, fmt.Errorf("%s: %w", m.f.Name, ErrUnsupported)
	}
	b := m.b
	if e := wire.Pattern(m.first(string(m.f.Call[0]))).Elements(); slices.ContainsFunc(e, isList) {
		call, err := m.list(e)
		return []*grammar.Node{call}, err
	}
	call, err := m.any(m.f.Call[0])
	if err != nil {
		return nil, err
	}
	m.call = call
	if len(m.f.Section.Open) == 0 {
		first := call
		if text := m.first(string(m.f.Call[0])); text != string(m.f.Call[0]) {
			if first, err = m.any(wire.Pattern(text)); err != nil {
				return nil, err
			}
		}
		if m.o.Single {
			return []*grammar.Node{first}, nil
		}
		return []*grammar.Node{b.Seq(first, b.Repeat(b.Seq(b.Lexeme(loose(m.f.Sep, true, true)), call), 0, wire.MaxCalls-1))}, nil
	}
	most := wire.MaxCalls
	if m.o.Single {
		most = 1
	}
	newline := b.Opt(b.Literal("\n"))
	inside := b.Seq(call, b.Repeat(b.Seq(b.Lexeme(loose(m.f.Sep, true, true)), call), 0, most-1))
	var out []*grammar.Node
	for i, open := range m.f.Section.Open {
		out = append(out, b.Seq(m.text(open), newline, inside, newline, m.text(m.f.Section.Close[min(i, len(m.f.Section.Close)-1)])))
	}
	return out, nil
}

// any is one call of any tool.
func (m *maker) any(p wire.Pattern) (*grammar.Node, error) {
	return m.each(func(tool wire.Tool) (*grammar.Node, error) { return m.pattern(p, tool) })
}

// each is the result of call for any tool.
func (m *maker) each(call func(wire.Tool) (*grammar.Node, error)) (*grammar.Node, error) {
	var each []*grammar.Node
	for i, tool := range m.o.Tools {
		if !m.readsName(tool.Name) {
			return nil, &ToolError{i, &schema.Error{Reason: fmt.Sprintf("%q means something else where %s writes the names of tools; give the tool another name", tool.Name, m.f.Name)}}
		}
		n, err := call(tool)
		if err != nil {
			return nil, &ToolError{i, err}
		}
		each = append(each, n)
	}
	return m.b.Alt(each...), nil
}

// first is what is left to write of a marker where the reply begins with it.
func (m *maker) first(marker string) string {
	if m.o.Primed {
		marker = strings.TrimPrefix(marker, m.f.Primed)
	}
	if m.o.Form == wire.FormText {
		marker = strings.TrimLeft(marker, " \n") // blanks would be of the form
	}
	return marker
}

// isList reports whether a place holds all calls of a reply.
func isList(e wire.Element) bool {
	return e.Kind == wire.Objects || e.Kind == wire.Calls || e.Kind == wire.List
}

// list is a pattern with a list of calls.
func (m *maker) list(elements []wire.Element) (*grammar.Node, error) {
	b := m.b
	most := wire.MaxCalls
	if m.o.Single {
		most = 1
	}
	var parts []*grammar.Node
	for _, e := range elements {
		if !isList(e) {
			parts = append(parts, m.text(e.Text))
			continue
		}
		call, err := m.each(func(tool wire.Tool) (*grammar.Node, error) { return m.one(e, tool) })
		if err != nil {
			return nil, err
		}
		sep := b.Seq(m.gap(), b.Literal(","), m.gap())
		if e.Kind != wire.Objects {
			sep = b.Literal(m.f.Sep)
		}
		calls := b.Seq(call, b.Repeat(b.Seq(sep, call), 0, most-1))
		if e.Kind != wire.Calls {
			calls = b.Seq(b.Literal("["), m.gap(), calls, m.gap(), b.Literal("]"))
		}
		parts = append(parts, calls)
	}
	return b.Seq(parts...), nil
}

// one is a call in a list.
func (m *maker) one(e wire.Element, tool wire.Tool) (*grammar.Node, error) {
	if e.Kind == wire.Objects {
		return m.object(tool)
	}
	return m.members(tool, tool.Name+"(", "=", ")", ", ")
}

// pattern is one call of a tool.
func (m *maker) pattern(p wire.Pattern, tool wire.Tool) (*grammar.Node, error) {
	b := m.b
	var parts []*grammar.Node
	elements := p.Elements()
	for i := 0; i < len(elements); i++ {
		e := elements[i]
		var n *grammar.Node
		var err error
		switch e.Kind {
		case wire.Literal:
			if e.Optional { // the template's own id, which is not needed
				i++
				continue
			}
			n = m.text(e.Text)
		case wire.Name:
			n = b.Literal(tool.Name)
		case wire.ID:
			n = b.Lexeme(grammar.Repeat(digit, 1, 9))
			if m.f.ID == wire.IDNamed {
				n = b.Seq(b.Literal("functions."+tool.Name+":"), n)
			}
		case wire.Skip:
			n = b.Lexeme(grammar.Repeat(digit, 1, 9))
		case wire.Args:
			if n, err = m.args(tool); m.f.Dialect == wire.Gemma {
				n, err = m.members(tool, "{", ":", "}", ",")
			}
		case wire.Object:
			n, err = m.object(tool)
		case wire.Params:
			n, err = m.params(tool)
		default:
			err = fmt.Errorf("%s: %w", m.f.Name, ErrUnsupported)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
	}
	return b.Seq(parts...), nil
}

var digit = grammar.Chars(grammar.Runes(grammar.RuneRange{Lo: '0', Hi: '9'}))

// args are the arguments as one object.
func (m *maker) args(tool wire.Tool) (*grammar.Node, error) {
	if len(tool.Parameters) == 0 || string(tool.Parameters) == "null" {
		return schema.AddObject(m.b, m.name("any")), nil
	}
	// Arguments are an object, whatever else the schema says.
	src, err := json.Marshal(map[string]any{"type": "object"})
	if err == nil {
		var members map[string]json.RawMessage
		if json.Unmarshal(tool.Parameters, &members) == nil && members["type"] != nil {
			src = tool.Parameters
		} else if members != nil {
			src = append([]byte(`{"type":"object",`), tool.Parameters[strings.IndexByte(string(tool.Parameters), '{')+1:]...)
			if len(members) == 0 {
				src = []byte(`{"type":"object"}`)
			}
		}
	}
	return m.schema(src)
}

func (m *maker) schema(src []byte) (*grammar.Node, error) {
	n, notes, err := schema.Add(m.b, src, schema.Options{Name: m.name("args")})
	m.notes = append(m.notes, notes...)
	return n, err
}

// object is a call object of a tool.
func (m *maker) object(tool wire.Tool) (*grammar.Node, error) {
	b, k := m.b, m.f.Keys
	args, err := m.args(tool)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(tool.Name)
	if err != nil {
		return nil, err
	}
	member := func(key string, value *grammar.Node) *grammar.Node {
		return b.Seq(b.Literal(`"`+key+`"`), m.gap(), b.Literal(":"), m.gap(), value)
	}
	comma := b.Seq(m.gap(), b.Literal(","), m.gap())
	id := b.Lexeme(grammar.Concat(grammar.Lit(`"`), grammar.Repeat(grammar.Chars(grammar.Runes(
		grammar.RuneRange{Lo: '0', Hi: '9'}, grammar.RuneRange{Lo: 'A', Hi: 'Z'}, grammar.RuneRange{Lo: 'a', Hi: 'z'})), 1, 9), grammar.Lit(`"`)))
	parts := []*grammar.Node{b.Literal("{"), m.gap()}
	if k.NameIsKey {
		parts = append(parts, member(strings.Trim(string(quoted), `"`), args))
	} else {
		if k.ID != "" && !k.IDLast {
			parts = append(parts, b.Opt(b.Seq(member(k.ID, id), comma)))
		}
		parts = append(parts, member(k.Name, b.Literal(string(quoted))), comma, member(k.Args, args))
		if k.ID != "" && k.IDLast {
			parts = append(parts, b.Opt(b.Seq(comma, member(k.ID, id))))
		}
	}
	return b.Seq(append(parts, m.gap(), b.Literal("}"))...), nil
}
