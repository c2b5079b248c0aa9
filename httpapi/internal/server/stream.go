package server

import (
	"context"
	"errors"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/stream"
)

// NewStream makes the writer of a streamed answer. The caller must call its Stop.
func (a *API) NewStream(c *Call, f stream.Framing) *stream.Writer {
	return stream.NewWriter(c.W, f, a.Options.HeaderDelay, a.Options.KeepAlive)
}

// StreamWork answers with what work sends, as Work does.
func StreamWork[T any](a *API, c *Call, s *stream.Writer, each func(T) error, work func(ctx context.Context, send func(T) error) error) error {
	defer s.Stop()
	return a.EndStream(c, s, stream.Work(c.R.Context(), s, a.Options.Stall, each, work))
}

// EndStream tells the client about err, nil for none, in the stream, if that has
// begun and has room for it, and the client listens. Otherwise it returns err.
func (a *API) EndStream(c *Call, s *stream.Writer, err error) error {
	if err == nil || !s.Begun || s.Fail == nil || errors.Is(err, fault.ErrGone) {
		return err
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		e = fault.Internal(err)
	}
	c.W.failure = e
	return s.Fail(s, e)
}
