package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"quern/engine/chat"
	"quern/engine/token"
)

// openTemplate reads the model's chat template: the one configured, else the
// file's. A model without one answers completions only.
func (m *textModel) openTemplate(ctx context.Context, e *Engine, n *entry) error {
	source := n.o.ChatTemplate
	if source == "" {
		source = m.file.Meta.String("tokenizer.chat_template")
	}
	if source == "" {
		return nil
	}
	spelling := func(r token.Role) string { return m.vocab.Text(m.vocab.Special(r)) }
	m.templateOptions = chat.Options{
		Model: n.id, Log: e.log,
		BOS: spelling(token.BOS), EOS: spelling(token.EOS), Unknown: spelling(token.UNK), Pad: spelling(token.PAD),
	}
	var err error
	if m.template, err = chat.New(source, m.templateOptions); err != nil && n.o.ChatTemplate == "" {
		// The file is fine for everything but chat.
		e.log.WarnContext(ctx, "the model's chat template cannot be used", "model", n.id, "err", err)
		m.templateErr = err
		return nil
	}
	return err
}

// prompt returns the tokens a generation starts from, and how many messages
// were dropped to make them fit.
func (m *textModel) prompt(ctx context.Context, p *Prompt) (ids []token.ID, dropped int, err error) {
	switch {
	case p.Messages != nil:
		return m.chatPrompt(ctx, p)
	case p.Tokens != nil:
		return p.Tokens, 0, m.known(p.Tokens, "prompt")
	}
	if m.vocab.AddBOS() {
		ids = append(ids, m.vocab.Special(token.BOS))
	}
	return m.vocab.Encode(ids, p.Text, true), 0, nil
}

// chatPrompt renders and encodes a conversation. With AutoShorten it drops the
// oldest turns until the rest fits, keeping system messages and the last
// user's turn.
func (m *textModel) chatPrompt(ctx context.Context, p *Prompt) (ids []token.ID, dropped int, err error) {
	short := *p
	for {
		if ids, _, err = m.render(ctx, &short); err != nil {
			return nil, 0, err
		}
		if len(ids) < m.context {
			return ids, dropped, nil
		}
		rest := withoutOldest(short.Messages)
		if !p.AutoShorten || rest == nil {
			return nil, 0, m.tooLong("messages", len(ids))
		}
		dropped += len(short.Messages) - len(rest)
		short.Messages = rest
	}
}

// withoutOldest returns the messages without the oldest whole turn (a user's
// message and what answered it), or nil when only the last turn is left.
func withoutOldest(list []chat.Message) []chat.Message {
	first := slices.IndexFunc(list, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	if first < 0 {
		return nil
	}
	next := slices.IndexFunc(list[first+1:], func(m chat.Message) bool { return m.Role == chat.RoleUser })
	if next < 0 {
		return nil
	}
	// System messages inside the turn stay.
	rest := slices.Clone(list[:first])
	for _, m := range list[first : first+1+next] {
		if m.Role == chat.RoleSystem {
			rest = append(rest, m)
		}
	}
	return append(rest, list[first+1+next:]...)
}

// render returns the tokens of a conversation and its text.
func (m *textModel) render(ctx context.Context, p *Prompt) ([]token.ID, string, error) {
	t := m.template
	if p.Template != "" {
		var err error
		if t, err = chat.New(p.Template, m.templateOptions); err != nil {
			return nil, "", &Error{Code: CodeTemplate, Param: "chat_template", Message: err.Error(), Err: err}
		}
	}
	if t == nil {
		if m.templateErr != nil {
			return nil, "", errorf(CodeTemplate, "messages", "the chat template of model %q cannot be used: %v; configure chat_template", m.id, m.templateErr)
		}
		return nil, "", errorf(CodeTemplate, "messages", "model %q has no chat template; configure chat_template, or use /v1/completions", m.id)
	}
	req := &chat.Request{Messages: p.Messages, Tools: p.Tools}
	if p.Continue {
		req.End = chat.EndContinue
	}
	for _, name := range slices.Sorted(maps.Keys(p.Kwargs)) {
		req.Kwargs = append(req.Kwargs, chat.Kwarg{Name: name, Value: p.Kwargs[name]})
	}
	out, err := t.Render(ctx, req)
	if err != nil {
		code, param := CodeTemplate, "messages"
		if errors.Is(err, chat.ErrRequest) {
			code = CodeInvalidValue
		}
		var kw *chat.KwargError
		if errors.As(err, &kw) {
			param = "chat_template_kwargs." + kw.Name
		}
		return nil, "", &Error{Code: code, Param: param, Message: err.Error(), Err: err}
	}
	var ids []token.ID
	// The template may print the BOS the tokenizer would add.
	if bos := m.vocab.Special(token.BOS); m.vocab.AddBOS() && !out.StartsWith(m.vocab.Text(bos)) {
		ids = append(ids, bos)
	}
	return m.vocab.EncodeTrusted(ids, out.Text, out.Trusted), out.Text, nil
}
