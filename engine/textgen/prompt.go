package textgen

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/chat"
	"quern/engine/lm"
	"quern/engine/token"
	"quern/engine/wire"
)

// prompt returns the tokens a generation starts from, and how many messages
// were dropped to make them fit. Of messages it returns the conversation, which is
// closed.
func (m *Model) prompt(ctx context.Context, p *engine.Prompt) (ids []token.ID, dropped int, c *conversation, err error) {
	switch {
	case p.Messages != nil:
		return m.chatPrompt(ctx, p)
	case p.Tokens != nil:
		return p.Tokens, 0, nil, m.Check(p.Tokens, p.Field())
	}
	ids, n, err := m.Alone(ctx, p.Text, m.room(), false, func(e token.Encoder) ([]token.ID, error) {
		return e.Encode(m.bos(), p.Text, true)
	})
	if err == nil && n.Tokens > m.room() {
		err = m.TooLong(p.Field(), n)
	}
	return ids, 0, nil, err
}

// room is how many tokens a prompt may be: one must be left for the reply.
func (m *Model) room() int { return m.Context - 1 }

// bos is the tokens that the tokenizer puts before a prompt.
func (m *Model) bos() []token.ID {
	if m.Vocab.AddBOS() {
		return []token.ID{m.Vocab.Special(token.BOS)}
	}
	return nil
}

// A conversation is a Prompt's messages with their template.
type conversation struct {
	m        *Model
	field    string // of the request, that the messages came in
	template *chat.Template
	req      chat.Request
	share    *budget.Share // of the text in work

	own    func() *dialect // of a template that is not the model's
	format *wire.Format    // of the answers, once rendered with tools
	tail   string          // of the prompt rendered last
}

// converse prepares the messages of p. Their share is taken, and stays so until
// the conversation is closed.
func (m *Model) converse(ctx context.Context, p *engine.Prompt) (*conversation, error) {
	c := &conversation{m: m, field: p.Field(), template: m.template, req: chat.Request{Messages: p.Messages, Tools: p.Tools}}
	if p.Template != "" {
		var err error
		if c.template, err = chat.New(p.Template, m.templateOptions); err != nil {
			return nil, engine.Errorf(engine.CodeTemplate, "chat_template", "%v", err).Because(err)
		}
		c.own = sync.OnceValue(func() *dialect { return m.dialectOf(c.template, p.Template) })
	}
	if c.template == nil {
		if m.templateErr != nil {
			return nil, engine.Errorf(engine.CodeTemplate, c.field, "the chat template of model %q cannot be used: %v; configure chat_template", m.ID, m.templateErr)
		}
		return nil, engine.Errorf(engine.CodeTemplate, c.field, "model %q has no chat template; configure chat_template, or use /v1/completions", m.ID)
	}
	if p.Continue {
		c.req.End = chat.EndContinue
	}
	n := weigh(p.Messages)
	for _, t := range p.Tools {
		n += len(t.Raw)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Kwargs)) {
		c.req.Kwargs = append(c.req.Kwargs, chat.Kwarg{Name: name, Value: p.Kwargs[name]})
		n += len(p.Kwargs[name])
	}
	var err error
	c.share, err = m.Texts.Take(ctx, n)
	return c, err
}

// dialectOfTools is the dialect where there are tools to be shown, else nil.
func (c *conversation) dialectOfTools() *dialect {
	if len(c.req.Tools) == 0 {
		return nil
	}
	if d := c.dialect(); !d.plain {
		return d
	}
	return nil
}

func (c *conversation) close() { c.share.Release() }

// tokens renders messages and encodes them as fit does.
func (c *conversation) tokens(ctx context.Context, messages []chat.Message, room int) ([]token.ID, lm.Size, string, error) {
	req := c.req
	req.Messages = messages
	var out *chat.Prompt
	asked, err := &req, error(nil)
	if d := c.dialectOfTools(); d != nil {
		asked, c.format, err = c.template.WithTools(d.found, &req)
	}
	if err == nil {
		out, err = c.template.Render(ctx, asked)
	}
	switch {
	case ctx.Err() != nil:
		return nil, lm.Size{}, "", ctx.Err()
	case errors.Is(err, chat.ErrRequest):
		param := c.field
		if kw, ok := errors.AsType[*chat.KwargError](err); ok {
			param = "chat_template_kwargs." + kw.Name
		}
		return nil, lm.Size{}, "", engine.Errorf(engine.CodeInvalidValue, param, "%v", err).Because(err)
	case err != nil:
		return nil, lm.Size{}, "", engine.Errorf(engine.CodeTemplate, c.field, "%v", err).Because(err)
	}
	out.Text += c.ending(out)
	c.tail = out.Tail()
	ids, n, err := c.m.Fit(ctx, out.Text, room, func(e token.Encoder) ([]token.ID, error) {
		bos := c.m.bos()
		// The template may print the BOS the tokenizer would add.
		if bos != nil && out.StartsWith(c.m.Vocab.Text(bos[0])) {
			bos = nil
		}
		return e.EncodeTrusted(bos, out.Text, out.Trusted)
	})
	return ids, n, out.Text, err
}
