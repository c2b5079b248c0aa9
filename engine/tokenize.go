package engine

import (
	"context"

	"quern/engine/token"
)

// Tokenize shows the tokens of a prompt.
func (e *Engine) Tokenize(ctx context.Context, r TokenizeRequest) (TokenizeResult, error) {
	m, release, err := acquire[*textModel](ctx, e, r.Model, "")
	if err != nil {
		return TokenizeResult{}, err
	}
	defer release()
	var ids []token.ID
	var text string
	switch {
	case r.Prompt.Messages != nil:
		if ids, text, err = m.render(ctx, &r.Prompt); err != nil {
			return TokenizeResult{}, err
		}
	case r.AddSpecial:
		ids = m.vocab.EncodeSequence(nil, r.Prompt.Text, true)
	default:
		ids = m.vocab.Encode(nil, r.Prompt.Text, true)
	}
	if text == "" {
		text = m.vocab.Decode(ids, token.DecodeOptions{Special: true})
	}
	res := TokenizeResult{Tokens: ids, Context: m.context, Text: text}
	for _, id := range ids {
		res.Pieces = append(res.Pieces, m.vocab.Bytes(id))
	}
	return res, nil
}

// Detokenize returns the text of tokens, control tokens spelled out.
func (e *Engine) Detokenize(ctx context.Context, name string, ids []token.ID) (string, error) {
	m, release, err := acquire[*textModel](ctx, e, name, "")
	if err != nil {
		return "", err
	}
	defer release()
	if err := m.known(ids, "tokens"); err != nil {
		return "", err
	}
	return m.vocab.Decode(ids, token.DecodeOptions{Special: true}), nil
}
