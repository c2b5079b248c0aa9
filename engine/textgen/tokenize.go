package textgen

import (
	"context"
	"iter"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/token"
)

// Tokenize shows the tokens of a prompt, however long it is.
func (m *Model) Tokenize(ctx context.Context, r engine.TokenizeRequest) (engine.TokenizeResult, error) {
	res := engine.TokenizeResult{Context: m.Context, Bytes: m.Vocab.Bytes}
	if r.Prompt.Messages != nil {
		c, err := m.converse(ctx, &r.Prompt)
		if err != nil {
			return engine.TokenizeResult{}, err
		}
		defer c.close()
		res.Tokens, _, res.Text, err = c.tokens(ctx, r.Prompt.Messages, lm.AnyLength)
		if err != nil {
			return engine.TokenizeResult{}, err
		}
		return res, nil
	}
	var err error
	res.Tokens, _, err = m.Alone(ctx, r.Prompt.Text, lm.AnyLength, false, func(e token.Encoder) ([]token.ID, error) {
		if r.AddSpecial {
			return e.EncodeSequence(r.Prompt.Text, true)
		}
		return e.Encode(nil, r.Prompt.Text, true)
	})
	if err != nil {
		return engine.TokenizeResult{}, err
	}
	return res, nil
}

// maxSpelled bounds the text that Detokenize makes: each token of a few digits
// may stand for more than a hundred bytes.
const maxSpelled = 64 << 20

// spelled is about how many bytes of text are yielded at once.
const spelled = 16 << 10

// Detokenize returns the text of tokens, control tokens spelled out, as engine.Lease
// says.
func (m *Model) Detokenize(ctx context.Context, ids []token.ID) (iter.Seq[[]byte], error) {
	if err := m.Check(ids, "tokens"); err != nil {
		return nil, err
	}
	n := 0
	for _, id := range ids {
		n += len(m.Vocab.Bytes(id))
	}
	if n > maxSpelled {
		return nil, engine.Errorf(engine.CodeInvalidValue, "tokens", "the text of %d tokens has %d bytes; the limit is %d", len(ids), n, maxSpelled)
	}
	vocab := m.Vocab
	return func(yield func([]byte) bool) {
		d := vocab.NewDecoder(token.DecodeOptions{Special: true})
		var text []byte
		for _, id := range ids {
			text = d.Append(text, id)
			if len(text) < spelled {
				continue
			}
			if ctx.Err() != nil || !yield(text) {
				return
			}
			text = text[:0]
		}
		if text = d.Flush(text); ctx.Err() == nil && len(text) > 0 {
			yield(text)
		}
	}, nil
}
