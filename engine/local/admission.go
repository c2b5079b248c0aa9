package local

import (
	"fmt"
	"sync/atomic"
	"time"

	"quern/engine"
)

// An admission counts the requests that are with a model of sound, those that wait included.
// A text model's scheduler has a queue instead.
type admission struct {
	n    atomic.Int64
	most int64
}

func newAdmission(n *entry) *admission { return &admission{most: int64(n.admits())} }

// enter lets a request of a model in unless there are as many as its queue allows. One
// that was let in has to leave.
func (c *admission) enter(model string, retry time.Duration) error {
	if c.n.Add(1) > c.most {
		c.n.Add(-1)
		return &engine.Error{Code: engine.CodeQueueFull, RetryAfter: retry,
			Message: fmt.Sprintf("model %q has %d requests waiting, as many as queue allows; try again later", model, c.most-1)}
	}
	return nil
}

func (c *admission) leave()    { c.n.Add(-1) }
func (c *admission) size() int { return int(c.n.Load()) }
