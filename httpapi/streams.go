package httpapi

import (
	"context"
	"errors"
)

// NewStream makes the writer of a streamed answer. The caller must call its Stop.
func (a *API) NewStream(c *call, f Framing) *Writer {
	return NewWriter(c.w, f, a.o.HeaderDelay, a.o.KeepAlive)
}

// StreamWork answers with what work sends, as Work does.
func StreamWork[T any](a *API, c *call, s *Writer, each func(T) error, work func(ctx context.Context, send func(T) error) error) error {
	defer s.Stop()
	return a.EndStream(c, s, Work(c.r.Context(), s, a.o.Stall, each, work))
}

// EndStream tells the client about err, nil for none, in the stream, if that has
// begun and has room for it, and somebody listens. Otherwise it returns err.
func (a *API) EndStream(c *call, s *Writer, err error) error {
	if err == nil || !s.Begun || s.Fail == nil || errors.Is(err, errGone) {
		return err
	}
	var e *apiError
	if !errors.As(err, &e) {
		e = internal(err)
	}
	c.w.failure = e
	return s.Fail(s, e)
}
