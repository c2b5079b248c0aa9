package textgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/token"
	"quern/engine/wire"
)

// noFormat is the name of the wire format with which answers are plain text.
const noFormat = "none"

// Templates say how a model is asked, and how its answers are read.
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
	plain   bool // they are taken as they come
	symbols func(*wire.Format) *symbols
}

// symbols are a format's markers that are tokens of the vocabulary.
type symbols struct {
	syntax    *wire.Syntax
	spellings map[token.ID]string
}

// dialectOf finds out how a template has its model answer. source is the template's text.
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
	own := sync.OnceValue(func() *symbols { return newSymbols(m.Vocab, f) })
	d.symbols = func(other *wire.Format) *symbols {
		if other == f {
			return own()
		}
		return newSymbols(m.Vocab, other)
	}
	return d
}

// newSymbols finds the tokens of a format's markers. Tokens of blanks are text.
func newSymbols(v *token.Vocab, f *wire.Format) *symbols {
	s := &symbols{spellings: map[token.ID]string{}}
	s.syntax = wire.NewSyntax(f, func(text string) bool {
		id, ok := v.Lookup(text)
		if !ok || strings.ContainsAny(text, " \n\t\r") {
			return false
		}
		k := v.Kind(id)
		if ok = k == token.Control || k == token.UserDefined; ok {
			s.spellings[id] = text
		}
		return ok
	})
	return s
}

// tailBytes is how much of a prompt's end says where its answer begins.
const tailBytes = 2 << 10

// A listening reads the answers to one prompt.
type listening struct {
	symbols *symbols
	options wire.Options
	one     bool // the first call is the last
}

// listen prepares for the answers to a conversation, nil where they are plain text.
func (c *conversation) listen(r *engine.GenerateRequest) (*listening, error) {
	if c == nil {
		return nil, nil
	}
	if err := c.checkTools(r.ToolChoice); err != nil {
		return nil, err
	}
	d := c.dialect()
	tools := len(r.Prompt.Tools) > 0
	if d.plain || !tools && !d.thinks {
		return nil, nil
	}
	format := c.format
	if format == nil {
		format = d.found.Format
	}
	l := &listening{symbols: d.symbols(format), one: r.ToolChoice.One}
	l.options = wire.Options{Prompt: c.tail, NoCalls: !tools, ShortIDs: c.template.ShortCallIDs()}
	var err error
	l.options.Tools, err = toolsOf(r.Prompt.Tools)
	return l, err
}

// A function is what a chat.Tool says of one.
type function struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
		Strict     bool            `json:"strict"`
	} `json:"function"`
}

func isStrict(t chat.Tool) bool {
	var f function
	return json.Unmarshal(t.Raw, &f) == nil && f.Function.Strict
}

func toolsOf(list []chat.Tool) ([]wire.Tool, error) {
	var out []wire.Tool
	for i, t := range list {
		var f function
		if err := json.Unmarshal(t.Raw, &f); err != nil || f.Function.Name == "" {
			return nil, engine.Errorf(engine.CodeInvalidValue, fmt.Sprintf("tools[%d]", i), "tools[%d] is no function with a name", i)
		}
		out = append(out, wire.Tool{Name: f.Function.Name, Parameters: f.Function.Parameters})
	}
	return out, nil
}

// checkTools refuses what is asked of tools and cannot be had.
func (c *conversation) checkTools(choice engine.ToolChoice) error {
	if len(c.req.Tools) == 0 {
		return nil
	}
	d := c.dialect()
	if d.plain {
		return engine.Errorf(engine.CodeUnsupportedParam, "tools", "model %q is configured with tool_format: none; leave tools out, or change that", c.m.ID)
	}
	if choice.Required || choice.Names != nil {
		return engine.Errorf(engine.CodeUnsupportedParam, "tool_choice", "tool_choice can be \"auto\" or \"none\" only: calls are read, not enforced")
	}
	if i := slices.IndexFunc(c.req.Tools, isStrict); i >= 0 {
		return engine.Errorf(engine.CodeUnsupportedParam, fmt.Sprintf("tools[%d].function.strict", i), "tools[%d].function.strict cannot be kept: calls are read, not enforced; leave it out", i)
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

// ending is what is written behind the prompt so that there is no thinking, where that is
// not wanted and the template knows no switch for it: a block of thinking that is empty.
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
	case d.found.Format.OpensThinking(prompt.Tail(tailBytes)):
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
