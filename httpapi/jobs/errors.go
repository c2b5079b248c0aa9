package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// Error codes of the server that nats.go has no names for.
const (
	codeNoLeader     = 10008
	codeResources    = 10023
	codeNoSpace      = 10047
	codeStoreFailed  = 10077 // among others, a limit of a stream
	codeWrongLastSeq = 10164 // on replicated streams, of two writers at once
)

// failure turns an error of the store into FullError, AwayError or ErrNotFound. Others stay
// as they are.
func failure(err error) error {
	var api *jetstream.APIError
	var full *batch.FullError
	var away *batch.AwayError
	switch {
	case err == nil, errors.As(err, &full), errors.As(err, &away), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, fs.ErrNotExist):
		return batch.ErrNotFound
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &batch.FullError{Left: 0, Disk: true, Err: err}
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded),
		errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrDigestMismatch), // a copy has not got all of it
		errors.Is(err, context.DeadlineExceeded):
		return &batch.AwayError{Err: err}
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeStoreFailed, codeNoSpace, codeResources:
			return &batch.FullError{Left: -1, Err: err}
		case codeNoLeader:
			return &batch.AwayError{Err: err}
		}
		if api.Code == 503 {
			return &batch.AwayError{Err: err}
		}
	}
	return err
}

// unopened turns an error of opening the store: a store that is not full
// is away, as one whose folder may not be written, and its contents are unknown.
func unopened(err error) error {
	var full *batch.FullError
	var away *batch.AwayError
	if told := failure(err); errors.As(told, &full) || errors.As(told, &away) || errors.Is(told, context.Canceled) {
		return told
	}
	return &batch.AwayError{Err: err}
}

// call calls the store once, in the time that one call may take.
func call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return failure(f(ctx))
}

// pause is how long a call that failed waits for the next.
const pause = 200 * time.Millisecond

// within calls the store until it answers, for as long as it is away and d is not over.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		err := call(ctx, f)
		var away *batch.AwayError
		if !errors.As(err, &away) || ctx.Err() != nil {
			return err
		}
		select {
		case <-end.C:
			return err
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// until calls the store until the call succeeds, for as long as it is away or full.
func until(ctx context.Context, f func(context.Context) error) error {
	for wait := pause; ; wait = min(2*wait, callTime) {
		err := call(ctx, f)
		var away *batch.AwayError
		var full *batch.FullError
		if !errors.As(err, &away) && !errors.As(err, &full) {
			return err
		}
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// A serverLog is where the embedded server logs. Notices and warnings are of level debug,
// for finding faults only.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l serverLog) Warnf(format string, v ...any)   { l.say(slog.LevelDebug, format, v) }
func (l serverLog) Errorf(format string, v ...any)  { l.say(slog.LevelWarn, format, v) }
func (l serverLog) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l serverLog) Debugf(format string, v ...any)  {}
func (l serverLog) Tracef(format string, v ...any)  {}

func (l serverLog) say(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "jetstream", "says", fmt.Sprintf(format, v...))
}
