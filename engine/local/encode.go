package local

import (
	"context"
	"errors"
	"fmt"
	"math"

	"quern/engine"
	"quern/engine/token"
)

// Text in work, on the whole server: being rendered, encoded or spelled. In the
// worst case, one long word, a byte takes about 64 of memory while its tokens
// are found, so this is a GiB.
const (
	textBudget  = 16 << 20
	textLeast   = 256 << 10
	textReserve = 2 << 20
)

// A size is how many tokens a text is.
type size struct {
	tokens int
	least  bool // or more: it was not counted to its end
}

func (s size) String() string {
	if s.least {
		return fmt.Sprintf("at least %d tokens", s.tokens)
	}
	return fmt.Sprintf("%d tokens", s.tokens)
}

func (m *textModel) tooLong(param string, n size) *engine.Error {
	return engine.Errorf(engine.CodeContextLength, param, "the prompt is %v; the context of this model is %d; shorten it or raise context_length", n, m.Context)
}

// anyLength is the room of texts that need not fit a context.
const anyLength = math.MaxInt / countedRooms

// countedRooms is how many times its room a text is counted to: who has to
// shorten it wants to know by how much.
const countedRooms = 4

var errEnough = errors.New("tokens enough")

// An encoding turns a text, which it knows, into tokens.
type encoding func(token.Encoder) ([]token.ID, error)

// first returns the tokens of a text up to about most, and how many it is. It
// stops when ctx ends, with ctx's error.
func (m *textModel) first(ctx context.Context, most int, with encoding) ([]token.ID, size, error) {
	ids, err := with(m.Vocab.Watched(func(n int) error {
		if n > most {
			return errEnough
		}
		return ctx.Err()
	}))
	if err != nil && err != errEnough {
		return nil, size{}, err
	}
	return ids, size{len(ids), err != nil}, nil
}

// fit is first for a text of which there is room for all or nothing: where it is
// more than room, tokens may be missing. A text that cannot fit for its length
// is not encoded.
func (m *textModel) fit(ctx context.Context, text string, room int, with encoding) ([]token.ID, size, error) {
	if n := m.Vocab.LeastTokens(text); n > room {
		return nil, size{n, true}, nil
	}
	return m.first(ctx, countedRooms*room, with)
}

// alone encodes a text that nothing is rendered for, once it has its share of
// the text in work: as fit does or, where a head will do, as first does.
func (m *textModel) alone(ctx context.Context, text string, room int, head bool, with encoding) ([]token.ID, size, error) {
	s, err := m.texts.Take(ctx, len(text))
	if err != nil {
		return nil, size{}, err
	}
	defer s.Release()
	if head {
		return m.first(ctx, room, with)
	}
	return m.fit(ctx, text, room, with)
}
