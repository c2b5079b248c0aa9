package local

import (
	"context"
	"iter"

	"quern/engine"
	"quern/engine/token"
)

// Tokenize implements engine.Lease.
func (l *lease) Tokenize(ctx context.Context, r engine.TokenizeRequest) (engine.TokenizeResult, error) {
	m, done, err := use[*textModel](l, "", nil)
	if err != nil {
		return engine.TokenizeResult{}, err
	}
	defer done()
	res := engine.TokenizeResult{Context: m.Context, Bytes: m.Vocab.Bytes}
	if r.Prompt.Messages != nil {
		c, err := m.converse(ctx, &r.Prompt)
		if err != nil {
			return engine.TokenizeResult{}, err
		}
		defer c.close()
		res.Tokens, _, res.Text, err = c.tokens(ctx, r.Prompt.Messages, anyLength)
		if err != nil {
			return engine.TokenizeResult{}, err
		}
	} else {
		res.Tokens, _, err = m.alone(ctx, r.Prompt.Text, anyLength, false, func(e token.Encoder) ([]token.ID, error) {
			if r.AddSpecial {
				return e.EncodeSequence(nil, r.Prompt.Text, true)
			}
			return e.Encode(nil, r.Prompt.Text, true)
		})
		if err != nil {
			return engine.TokenizeResult{}, err
		}
	}
	return res, nil
}

// maxSpelled bounds the text that Detokenize makes: each token of a few digits
// may stand for more than a hundred bytes.
const maxSpelled = 64 << 20

// spelled is about how many bytes of text are handed on at once.
const spelled = 16 << 10

// Detokenize implements engine.Lease.
func (l *lease) Detokenize(ctx context.Context, ids []token.ID) (iter.Seq[[]byte], error) {
	m, done, err := use[*textModel](l, "", nil)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := m.known(ids, "tokens"); err != nil {
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
