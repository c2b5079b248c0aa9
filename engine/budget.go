package engine

import (
	"context"
	"slices"
	"sync"
)

// Text in work, on the whole server: being rendered, encoded or spelled. In the
// worst case, one long word, a byte takes about 64 of memory while its tokens
// are found, so this is a GiB.
const (
	textBudget  = 16 << 20
	textLeast   = 256 << 10 // what a short text counts as; bounds how many are in work
	textReserve = 2 << 20   // what long texts leave to short ones
)

// A budget bounds the text in work. Who does not get a share waits, under the
// request's context. Long texts go in order of asking; short ones do not wait
// for them.
type budget struct {
	mu      sync.Mutex
	used    int64
	waiting []*share
}

// A share is a part of a budget, or the wish for one.
type share struct {
	of    *budget
	n     int64
	given chan struct{} // closed when it is given
}

// take waits for a share of n bytes, or of all that is left to long texts. It
// fails with ctx's error only.
func (b *budget) take(ctx context.Context, n int) (*share, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &share{b, min(max(int64(n), textLeast), textBudget-textReserve), make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, s)
	b.give()
	b.mu.Unlock()
	select {
	case <-s.given:
		return s, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-s.given:
		b.used -= s.n
	default:
		b.waiting = slices.DeleteFunc(b.waiting, func(w *share) bool { return w == s })
	}
	b.give()
	return nil, ctx.Err()
}

// release gives a share back.
func (s *share) release() {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= s.n
	b.give()
}

// give serves those who wait. mu is held.
func (b *budget) give() {
	held := false // a long text waits, and those behind it
	b.waiting = slices.DeleteFunc(b.waiting, func(s *share) bool {
		left := textBudget - b.used
		if s.n > textLeast {
			left -= textReserve
			if held || s.n > left {
				held = true
				return false
			}
		} else if s.n > left {
			return false
		}
		b.used += s.n
		close(s.given)
		return true
	})
}
