package local

import (
	"context"

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
	res := engine.TokenizeResult{Context: m.Context}
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
	if r.Pieces {
		res.Pieces = make([][]byte, len(res.Tokens))
		for i, id := range res.Tokens {
			res.Pieces[i] = m.Vocab.Bytes(id)
		}
	}
	return res, nil
}

// maxSpelled bounds the text that Detokenize makes: each token of a few digits
// may stand for more than a hundred bytes.
const maxSpelled = 64 << 20

// Detokenize implements engine.Lease.
func (l *lease) Detokenize(ctx context.Context, ids []token.ID) (string, error) {
	m, done, err := use[*textModel](l, "", nil)
	if err != nil {
		return "", err
	}
	defer done()
	if err := m.known(ids, "tokens"); err != nil {
		return "", err
	}
	n := 0
	for _, id := range ids {
		n += len(m.Vocab.Bytes(id))
	}
	if n > maxSpelled {
		return "", engine.Errorf(engine.CodeInvalidValue, "tokens", "the text of %d tokens has %d bytes; the limit is %d", len(ids), n, maxSpelled)
	}
	s, err := m.texts.Take(ctx, n)
	if err != nil {
		return "", err
	}
	defer s.Release()
	d := m.Vocab.NewDecoder(token.DecodeOptions{Special: true})
	text := make([]byte, 0, n+n/8)
	for i, id := range ids {
		if i%4096 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		text = d.Append(text, id)
	}
	return string(d.Flush(text)), nil
}
