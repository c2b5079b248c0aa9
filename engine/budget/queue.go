package budget

import (
	"sync/atomic"
	"time"

	"quern/engine"
)

// A Queue counts the requests that are with a model which serves one after the other,
// those that wait included. A text model's scheduler has its own.
type Queue struct {
	Most int

	n atomic.Int64
}

// Enter lets a request of a model in unless there are as many as may be. One that was
// let in has to leave.
func (q *Queue) Enter(model string, retry time.Duration) error {
	if q.n.Add(1) > int64(q.Most) {
		q.n.Add(-1)
		return engine.Errorf(engine.CodeQueueFull, "", "model %q has %d requests waiting, as many as queue allows; try again later", model, q.Most-1).After(retry)
	}
	return nil
}

// Leave ends the stay of a request that was let in.
func (q *Queue) Leave() { q.n.Add(-1) }

// Len is how many requests are there.
func (q *Queue) Len() int { return int(q.n.Load()) }
