package lm

import (
	"context"
	"errors"
	"fmt"
	"math"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/token"
)

// TextBudget is of text in work, on the whole server: being rendered, encoded or spelled.
// In the worst case, one long word, a byte takes about 64 of memory while its tokens are
// found, so this is a GiB.
func TextBudget() *budget.Budget {
	return &budget.Budget{Total: 16 << 20, Least: 256 << 10, Reserve: 2 << 20}
}

// A Reader turns the texts of requests into tokens of a model, within bounds.
type Reader struct {
	ID      string // of the model
	Vocab   *token.Vocab
	Tokens  int            // how many the model has
	Context int            // tokens one request gets
	Texts   *budget.Budget // of text in work
}

// A Size is how many tokens a text is.
type Size struct {
	Tokens int
	Least  bool // or more: it was not counted to its end
}

func (s Size) String() string {
	if s.Least {
		return fmt.Sprintf("at least %d tokens", s.Tokens)
	}
	return fmt.Sprintf("%d tokens", s.Tokens)
}

// TooLong refuses a prompt of n tokens.
func (m *Reader) TooLong(param string, n Size) *engine.Error {
	return engine.Errorf(engine.CodeContextLength, param, "the prompt is %v; the context of this model is %d; shorten it or raise context_length", n, m.Context)
}

// AnyLength is the room of texts that need not fit a context.
const AnyLength = math.MaxInt / countedRooms

// countedRooms is how many times its room a text is counted to: the error of a text that is too
// long says by how much.
const countedRooms = 4

var errEnough = errors.New("tokens enough")

// An Encoding turns a text, which it closes over, into tokens.
type Encoding func(token.Encoder) ([]token.ID, error)

// First returns the tokens of a text up to about most, and how many it is. It
// stops when ctx ends, with ctx's error.
func (m *Reader) First(ctx context.Context, most int, with Encoding) ([]token.ID, Size, error) {
	ids, err := with(m.Vocab.Watched(func(n int) error {
		if n > most {
			return errEnough
		}
		return ctx.Err()
	}))
	if err != nil && err != errEnough {
		return nil, Size{}, err
	}
	return ids, Size{len(ids), err != nil}, nil
}

// Fit is First for a text of which there is room for all or nothing: where it is
// more than room, tokens may be missing. A text that cannot fit for its length
// is not encoded.
func (m *Reader) Fit(ctx context.Context, text string, room int, with Encoding) ([]token.ID, Size, error) {
	if n := m.Vocab.LeastTokens(text); n > room {
		return nil, Size{n, true}, nil
	}
	return m.First(ctx, countedRooms*room, with)
}

// Alone encodes a text that is not part of a rendered prompt, once it has its share of
// the text in work: as Fit does or, where a head will do, as First does.
func (m *Reader) Alone(ctx context.Context, text string, room int, head bool, with Encoding) ([]token.ID, Size, error) {
	s, err := m.Texts.Take(ctx, len(text))
	if err != nil {
		return nil, Size{}, err
	}
	defer s.Release()
	if head {
		return m.First(ctx, room, with)
	}
	return m.Fit(ctx, text, room, with)
}

// Check checks that ids are tokens of the model.
func (m *Reader) Check(ids []token.ID, param string) error {
	for _, id := range ids {
		if id < 0 || int(id) >= m.Tokens {
			return engine.Errorf(engine.CodeInvalidValue, param, "%s: %d is no token of the model, whose are 0 to %d", param, id, m.Tokens-1)
		}
	}
	return nil
}

// Reader returns the Reader of the model, which is open.
func (m *File) Reader(texts *budget.Budget) Reader {
	return Reader{ID: m.ID, Vocab: m.Vocab, Tokens: m.Config.Vocab, Context: m.Context, Texts: texts}
}
