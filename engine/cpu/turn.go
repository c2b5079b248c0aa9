package cpu

import (
	"sync/atomic"
	"time"
)

// A turn is the right to use the pool. It goes round in the order of asking, and who
// holds it for long is asked to let others in between two steps: a window of
// speech takes seconds to encode, and another model's next token should not wait for that.
type turn struct {
	free    chan struct{} // holds one value while the turn is free
	waiting atomic.Int32
}

// quantum is how long a run goes on while others wait.
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
	<-t.free // those who wait are served in order
	t.waiting.Add(-1)
}

func (t *turn) give() { t.free <- struct{}{} }

// yield lets the others go first where there are any and since is long ago. It
// returns when the turn began that is now in force.
func (t *turn) yield(since time.Time) time.Time {
	if t.waiting.Load() == 0 || time.Since(since) < quantum {
		return since
	}
	t.give()
	t.take()
	return time.Now()
}
