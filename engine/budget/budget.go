// Package budget bounds what requests hold at the same time.
package budget

import (
	"context"
	"slices"
	"sync"
)

// A Budget is a number of bytes that requests acquire shares of; a request waits until its share
// is free. Large shares are assigned in the order of their requests; small ones do not wait
// for them. The first three fields must not change.
type Budget struct {
	Total   int64
	Least   int64 // what a small share counts as, which bounds how many there are
	Reserve int64 // what large shares leave to small ones

	mu      sync.Mutex
	used    int64
	waiting []*Share
}

// A Share is a part of a Budget, acquired or waited for.
type Share struct {
	of    *Budget
	n     int64
	given chan struct{} // closed when it is acquired
}

// Take waits for a share of n bytes, or of all but the reserve where n is more.
// It fails with ctx's error only.
func (b *Budget) Take(ctx context.Context, n int) (*Share, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Share{b, min(max(int64(n), b.Least), b.Total-b.Reserve), make(chan struct{})}
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
		b.waiting = slices.DeleteFunc(b.waiting, func(w *Share) bool { return w == s })
	}
	b.give()
	return nil, ctx.Err()
}

// Release releases a share. It is to be called once.
func (s *Share) Release() {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= s.n
	b.give()
}

// Used returns the bytes that are taken.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// give assigns free bytes to shares that wait. mu is held.
func (b *Budget) give() {
	held := false // a large share is waited for, and those behind it
	b.waiting = slices.DeleteFunc(b.waiting, func(s *Share) bool {
		left := b.Total - b.used
		if s.n > b.Least {
			left -= b.Reserve
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
