package server

import (
	"context"
	"sync"
)

// takeTurns are the endpoints whose models do one thing after the other: a line of a batch
// begins there when no request is under way. Text models have a lane for lines instead.
var takeTurns = []string{"/v1/embeddings", "/v1/audio/transcriptions"}

// busy counts requests under way by path, lines of batches not among them.
type busy struct {
	mu   sync.Mutex
	n    map[string]int
	free chan struct{} // closed, and made anew, when a path has none any more
}

func (b *busy) enter(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n[path]++
}

func (b *busy) leave(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n[path]--; b.n[path] == 0 {
		close(b.free)
		b.free = make(chan struct{})
	}
}

// idle waits until no request of a path is under way, and reports whether ctx goes on.
func (b *busy) idle(ctx context.Context, path string) bool {
	for {
		b.mu.Lock()
		n, free := b.n[path], b.free
		b.mu.Unlock()
		if n == 0 {
			return ctx.Err() == nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return false
		}
	}
}
