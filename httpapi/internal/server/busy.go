package server

import (
	"context"
	"sync"

	"quern/engine"
)

// takeTurns are the endpoints whose models do one thing after the other, with the kind of those:
// a line of a batch begins there when no request is with its model, or when so many have come
// since one began that it is its turn. Text models have a lane for lines instead.
var takeTurns = map[string]engine.Kind{
	"/v1/embeddings":           engine.KindEmbedding,
	"/v1/audio/transcriptions": engine.KindTranscription,
}

// lineAfter is how many requests come between two lines where requests never rest: the least
// a batch gets, as in engine/sched.
const lineAfter = 32

// busy counts requests by the model they are with, lines of batches not among them.
type busy struct {
	mu   sync.Mutex
	n    map[string]int
	came map[string]int // since a line began or none was with the model
	free chan struct{}  // closed, and made anew, when a line may begin
}

func newBusy() busy {
	return busy{n: map[string]int{}, came: map[string]int{}, free: make(chan struct{})}
}

// enter counts a request, until what it returns is called.
func (b *busy) enter(model string) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n[model]++
	if b.came[model]++; b.came[model] == lineAfter {
		b.wake()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.n[model]--; b.n[model] == 0 {
			delete(b.n, model)
			delete(b.came, model)
			b.wake()
		}
	}
}

// wake has lines look again. b.mu is held.
func (b *busy) wake() {
	close(b.free)
	b.free = make(chan struct{})
}

// turn waits until a line may begin with a model, and reports whether ctx goes on.
func (b *busy) turn(ctx context.Context, model string) bool {
	for {
		b.mu.Lock()
		begins, free := b.n[model] == 0 || b.came[model] >= lineAfter, b.free
		if begins {
			delete(b.came, model)
		}
		b.mu.Unlock()
		if begins {
			return ctx.Err() == nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return false
		}
	}
}
