package stream

import (
	"context"
	"time"

	"quern/httpapi/internal/fault"
)

// Relay calls each with the values of items as they come, until it is closed or ctx, the
// request's, ends. Meanwhile it sends the header when its time has come, keeps a quiet
// stream open, and ends one that makes no progress for stall. failed returns why there
// are no more values, nil after the last.
func Relay[T any](ctx context.Context, s *Writer, stall time.Duration, items <-chan T, failed func() error, each func(T) error) error {
	var stalled timer
	defer stalled.stop()
	for {
		var err error
		select {
		case v, ok := <-items:
			if !ok {
				return failed()
			}
			stalled.reset(stall)
			err = each(v)
		case <-s.header.c():
			err = s.alive()
		case <-s.quiet.c():
			err = s.alive()
		case <-stalled.c():
			if len(items) > 0 {
				break // it is the client that was slow
			}
			err = Stalled(stall)
		case <-ctx.Done():
			err = fault.Classify(ctx, ctx.Err())
		}
		if err != nil {
			return err
		}
	}
}

// Stalled is the error of a request whose model made no progress for so long.
func Stalled(stall time.Duration) error {
	return fault.New(fault.CodeRequestTimeout, "", "the model made no progress for stall_timeout (%v); try again or raise it", stall)
}

// Work streams what work sends, which each writes. The work runs beside the stream, at
// most one value ahead of it, and has ended when Work returns.
func Work[T any](ctx context.Context, s *Writer, stall time.Duration, each func(T) error, work func(ctx context.Context, send func(T) error) error) error {
	inner, cancel := context.WithCancel(ctx)
	items := make(chan T, 1)
	var failure error
	go func() {
		defer close(items)
		defer fault.Recovered(&failure)
		if err := work(inner, func(v T) error {
			select {
			case items <- v:
				return nil
			case <-inner.Done():
				return inner.Err()
			}
		}); err != nil {
			failure = fault.Classify(inner, err)
		}
	}()
	defer func() {
		cancel()
		for range items { // until it is closed
		}
	}()
	s.Expect()
	err := Relay(ctx, s, stall, items, func() error { return failure }, each)
	if err == nil {
		err = s.Begin()
	}
	return err
}
