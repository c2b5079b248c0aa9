package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

var errStalled = errors.New("the connection fell silent")

// A watched body ends with errStalled when the other side says nothing for a
// while. Time the reader takes for itself does not count.
type watched struct {
	body  io.Reader
	ctx   context.Context
	timer *time.Timer
	stall time.Duration
}

func (w *watched) Read(b []byte) (int, error) {
	w.timer.Reset(w.stall)
	n, err := w.body.Read(b)
	w.timer.Stop()
	if err != nil && err != io.EOF && w.ctx.Err() != nil {
		err = context.Cause(w.ctx)
	}
	return n, err
}

// watch is open with a body that cannot hang. cancel must be called; it ends
// the request.
func (c *Client) watch(parent context.Context, method string, u *url.URL, byteRange string) (*answer, io.Reader, context.CancelFunc, error) {
	ctx, end := context.WithCancelCause(parent)
	timer := time.AfterFunc(c.o.Stall, func() { end(errStalled) })
	a, err := c.open(ctx, method, u, byteRange)
	timer.Stop()
	if err != nil {
		end(nil)
		if errors.Is(err, errStalled) {
			err = &again{err: fmt.Errorf("%s: %w", u.Host, errStalled)}
		}
		return nil, nil, nil, err
	}
	return a, &watched{body: a.Body, ctx: ctx, timer: timer, stall: c.o.Stall}, func() { timer.Stop(); end(nil) }, nil
}
