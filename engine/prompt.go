package engine

import (
	"quern/engine/token"
)

// prompt returns the tokens a generation starts from, and how many messages
// were dropped to make them fit.
func (m *textModel) prompt(p *Prompt) (ids []token.ID, dropped int, err error) {
	switch {
	case p.Messages != nil:
		ids, err = m.render(p)
	case p.Tokens != nil:
		return p.Tokens, 0, m.known(p.Tokens, "prompt")
	default:
		if m.vocab.AddBOS() {
			ids = append(ids, m.vocab.Special(token.BOS))
		}
		ids = m.vocab.Encode(ids, p.Text, true)
	}
	return ids, dropped, err
}

func (m *textModel) render(p *Prompt) ([]token.ID, error) {
	return nil, errorf(CodeTemplate, "messages", "chat templates are being written")
}

func (m *textModel) openTemplate(e *Engine, n *entry) error { return nil }
