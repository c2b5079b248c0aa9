package cpu

import (
	"sync/atomic"
	"time"
)

// A turn is a lock on the pool. Waiters acquire it in order, and a holder yields it between two
// steps once it has had it for a quantum: a window of speech takes seconds to encode,
// and another model's next token should not wait for that.
type turn struct {
	free    chan struct{} // holds one value while the turn is free
	waiting atomic.Int32
}

// quantum is how long a holder keeps the turn while others wait.
const quantum = 20 * time.Millisecond

func newTurn() *turn {
	t := &turn{free: make(chan struct{}, 1)}
	t.free <- struct{}{}
	return t
}

func (t *turn) take() {
	select {
	case <-t.free:
		return
	default:
	}
	t.waiting.Add(1)
	<-t.free // waiters receive in order
	t.waiting.Add(-1)
}

func (t *turn) give() { t.free <- struct{}{} }

// yield releases the turn to waiters, if there are any and it was acquired, at since, a quantum ago,
// and acquires it again. It returns when the turn was acquired last.
func (t *turn) yield(since time.Time) time.Time {
	if t.waiting.Load() == 0 || time.Since(since) < quantum {
		return since
	}
	t.give()
	t.take()
	return time.Now()
}
