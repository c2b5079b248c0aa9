package textgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/constrain"
	"quern/engine/token"
	"quern/engine/wire"
)

// noFormat is the name of the wire format with which answers are plain text.
const noFormat = "none"

// Templates say how prompts of a model are written, and how its answers are parsed.
type Templates struct {
	Configured string // chat template instead of that of the model's file
	Own        string // that of the file
	Format     string // name of the wire format; "" is found by the template, noFormat is none
	NoFallback bool   // refuse tools where the template shows none, instead of describing them
}

// A dialect is how answers to prompts of a template are written.
type dialect struct {
	found   wire.Found
	thinks  bool // answers may hold thinking
	plain   bool // they are not parsed
	symbols func(*wire.Format) *symbols
}

// symbols are a format's markers that are tokens of the vocabulary.
type symbols struct {
	syntax    *wire.Syntax
	spellings map[token.ID]string
	ids       map[string]token.ID
	forms     *constrain.Compiler // to which they are no text
}

// dialectOf is the dialect of a template. source is the template's text.
func (m *Model) dialectOf(t *chat.Template, source string) *dialect {
	if m.templates.Format == noFormat {
		return &dialect{plain: true}
	}
	d := &dialect{found: t.Format()}
	f := d.found.Format
	if named, ok := wire.Find(m.templates.Format); ok {
		f = named
		d.found.Format = f
	}
	// A template may drop the thinking of earlier answers by its mark and show none.
	d.thinks = d.found.Thinks || f.Channel != nil || len(f.Hide.Open) > 0 || f.Think.Close != "" && strings.Contains(source, f.Think.Close)
	own := sync.OnceValue(func() *symbols { return m.symbolsOf(f) })
	// The only other format is that in which tools are described.
	var once sync.Once
	var generic *symbols
	d.symbols = func(g *wire.Format) *symbols {
		if g == f {
			return own()
		}
		once.Do(func() { generic = m.symbolsOf(g) })
		return generic
	}
	return d
}

// Thinks reports whether answers of chats may have thinking, by their template.
func (m *Model) Thinks() bool { return m.dialect != nil && m.dialect().thinks }

// symbolsOf prepares a format.
func (m *Model) symbolsOf(f *wire.Format) *symbols {
	s := newSymbols(m.Vocab, f)
	s.forms = m.forms
	var marks []token.ID
	for id := range s.spellings {
		if m.Vocab.Kind(id) != token.Control {
			marks = append(marks, id)
		}
	}
	if marks != nil {
		s.forms = constrain.New(m.Vocab, marks...)
	}
	return s
}

// newSymbols finds the tokens of a format's markers. Tokens of blanks are text.
func newSymbols(v *token.Vocab, f *wire.Format) *symbols {
	s := &symbols{spellings: map[token.ID]string{}, ids: map[string]token.ID{}}
	s.syntax = wire.NewSyntax(f, func(text string) bool {
		id, ok := v.Lookup(text)
		if !ok || strings.ContainsAny(text, " \n\t\r") {
			return false
		}
		k := v.Kind(id)
		if ok = k == token.Control || k == token.UserDefined; ok {
			s.spellings[id], s.ids[text] = text, id
		}
		return ok
	})
	return s
}

// An answerFormat says how the answers to one prompt are parsed.
type answerFormat struct {
	symbols *symbols
	options wire.Options
	one     bool // the first call is the last
	silent  bool // a grammar allows no words beside calls

	notes    []string // parts of the tools' schemas that are not enforced
	thinking bool     // the prompt opened it
	mayThink bool     // answers may open it
}

// answerFormat is that of the answers to a conversation, nil where they are plain text: also
// under a form without thinking and tools, which is all of the answer.
func (c *conversation) answerFormat(r *engine.GenerateRequest) (*answerFormat, error) {
	if c == nil {
		return nil, nil
	}
	if err := c.checkTools(r.ToolChoice); err != nil {
		return nil, err
	}
	d := c.dialect()
	tools := len(r.Prompt.Tools) > 0
	if k := r.ReasoningBudget; d.plain && k != nil && k.Param != "" {
		return nil, engine.Errorf(engine.CodeUnsupportedParam, k.Param, "%s: model %q is configured with tool_format: none, with which thinking is not told from the answer; leave it out, or change that", k.Param, c.m.ID)
	}
	if d.plain || !tools && !d.thinks {
		return nil, nil
	}
	format := c.format
	if format == nil {
		format = d.found.Format
	}
	l := &answerFormat{symbols: d.symbols(format), one: r.ToolChoice.One}
	open, over := format.Thinking(c.tail)
	l.thinking, l.mayThink = open, d.thinks && !over && !thinkingOff(c.req.Kwargs)
	l.options = wire.Options{Prompt: c.tail, NoCalls: !tools, ShortIDs: c.template.ShortCallIDs()}
	if r.Constraint != nil && !r.ToolChoice.Required {
		if alone := !tools && !l.mayThink && format.Channel == nil || c.req.End == chat.EndContinue; alone && !open {
			return nil, nil
		}
		l.options.Form = constrain.ReadAs(r.Constraint)
	}
	functions, err := functionsOf(r.Prompt.Tools)
	for _, f := range functions {
		l.options.Tools = append(l.options.Tools, wire.Tool{Name: f.Name, Parameters: f.Parameters})
	}
	return l, err
}

// A function is a chat.Tool's function.
type function struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Strict     bool            `json:"strict"`
}

func functionsOf(list []chat.Tool) ([]function, error) {
	var out []function
	for i, t := range list {
		var tool struct {
			Function function `json:"function"`
		}
		if err := json.Unmarshal(t.Raw, &tool); err != nil || tool.Function.Name == "" {
			return nil, engine.Errorf(engine.CodeInvalidValue, fmt.Sprintf("tools[%d]", i), "tools[%d] is no function with a name", i)
		}
		out = append(out, tool.Function)
	}
	return out, nil
}

// checkTools refuses tools, or a choice among them, that the template does not support.
func (c *conversation) checkTools(choice engine.ToolChoice) error {
	if len(c.req.Tools) == 0 {
		return nil
	}
	d := c.dialect()
	if d.plain {
		return engine.Errorf(engine.CodeUnsupportedParam, "tools", "model %q is configured with tool_format: none; leave tools out, or change that", c.m.ID)
	}
	if d.found.Tools {
		return nil
	}
	if choice.Required {
		return engine.Errorf(engine.CodeUnsupportedParam, "tool_choice", "the chat template of model %q shows no tools, so a call cannot be required; use \"auto\" or a model made for tools", c.m.ID)
	}
	if c.m.templates.NoFallback {
		return engine.Errorf(engine.CodeUnsupportedParam, "tools", "the chat template of model %q shows no tools; use a model made for tools, or set tools.fallback to generic", c.m.ID)
	}
	return nil
}

// dialect is how answers to the conversation are written.
func (c *conversation) dialect() *dialect {
	if c.own == nil {
		return c.m.dialect()
	}
	return c.own()
}

// ending is an empty block of thinking, added to the prompt where the request switches thinking
// off and the template has no switch for it.
func (c *conversation) ending(prompt *chat.Prompt) string {
	if !thinkingOff(c.req.Kwargs) || c.req.End != chat.EndAnswer {
		return ""
	}
	d := c.dialect()
	if d.plain || !d.thinks || d.found.Switch || d.found.Format.Channel != nil {
		return ""
	}
	think := d.found.Format.Think
	switch {
	case think.Close == "":
		return ""
	case d.found.Format.OpensThinking(prompt.Tail()):
		return "\n" + think.Close + "\n\n"
	case len(think.Open) == 0:
		return ""
	}
	return think.Open[0] + "\n\n" + think.Close + "\n\n"
}

// thinkingOff reports whether a request switches thinking off.
func thinkingOff(kwargs []chat.Kwarg) bool {
	i := slices.IndexFunc(kwargs, func(k chat.Kwarg) bool { return k.Name == "enable_thinking" })
	return i >= 0 && string(kwargs[i].Value) == "false"
}
