package httpapi

import (
	"context"
	"fmt"
	"runtime/debug"
)

// A feed is where the values of a stream come from.
type feed[T any] struct {
	items <-chan T        // closed when there are no more
	err   func() error    // says why then, ready for the client; nil after the last
	ended <-chan struct{} // the request is over: client gone, timeout or shutdown
	over  func() error    // why
}

// relay hands the values of f to each as they come. Meanwhile it sends the header
// when its time has come, keeps a quiet stream open, and ends one that stalls.
func relay[T any](a *API, s *eventWriter, f feed[T], each func(T) error) error {
	var stall timer
	defer stall.stop()
	for {
		var err error
		select {
		case v, ok := <-f.items:
			if !ok {
				return f.err()
			}
			stall.reset(a.o.Stall)
			err = each(v)
		case <-s.header.c():
			err = s.alive()
		case <-s.quiet.c():
			err = s.alive()
		case <-stall.c():
			if len(f.items) > 0 {
				break // it is the client that was slow
			}
			err = fail(codeRequestTimeout, "", "the model made no progress for stall_timeout (%v); try again or raise it", a.o.Stall)
		case <-f.ended:
			err = f.over()
		}
		if err != nil {
			return err
		}
	}
}

// streamWork answers with what work sends, which each writes. The work runs beside
// the stream, at most one value ahead of it, and has ended when streamWork returns.
func streamWork[T any](a *API, c *call, s *eventWriter, each func(T) error, work func(ctx context.Context, send func(T) error) error) error {
	defer s.stop()
	ctx := c.r.Context()
	inner, cancel := context.WithCancel(ctx)
	items := make(chan T, 1)
	var failure error
	go func() {
		defer close(items)
		defer recovered(&failure)
		if err := work(inner, func(v T) error {
			select {
			case items <- v:
				return nil
			case <-inner.Done():
				return inner.Err()
			}
		}); err != nil {
			failure = classify(inner, err)
		}
	}()
	defer func() {
		cancel()
		for range items { // until it is closed
		}
	}()
	s.expect()
	err := relay(a, s, feed[T]{
		items: items, err: func() error { return failure },
		ended: ctx.Done(), over: func() error { return classify(ctx, ctx.Err()) },
	}, each)
	if err == nil {
		err = s.begin()
	}
	return a.streamError(c, s, err)
}

// recovered turns a panic of the goroutine that defers it into an error for the client.
func recovered(err *error) {
	if p := recover(); p != nil {
		f := fail(codeInternal, "", "something went wrong inside the server; its log has the details")
		f.cause = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		*err = f
	}
}
