package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"quern/engine"
)

// slowWrite is how long a write takes when the client's buffers are full.
// Tokens that pile up meanwhile go out as one event.
const slowWrite = 5 * time.Millisecond

// An eventWriter writes server-sent events. The header goes out with the
// first, so whatever fails earlier still has a status of its own.
type eventWriter struct {
	w    *response
	buf  bytes.Buffer
	json *json.Encoder
	slow bool // the last write blocked

	begun bool          // the header is sent
	keep  time.Duration // silence that quiet ends
	quiet timer         // runs out when a comment is due
}

func newEventWriter(w *response, keep time.Duration) *eventWriter {
	s := &eventWriter{w: w, keep: keep}
	s.json = json.NewEncoder(&s.buf)
	s.json.SetEscapeHTML(false)
	return s
}

// begin sends the header.
func (s *eventWriter) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.w.WriteHeader(http.StatusOK)
}

// event sends v on one data line: encoded JSON has no raw line breaks.
func (s *eventWriter) event(v any) error {
	s.buf.Reset()
	s.buf.WriteString("data: ")
	if err := s.json.Encode(v); err != nil {
		return err
	}
	s.buf.WriteByte('\n')
	return s.send()
}

func (s *eventWriter) done() error { return s.text("data: [DONE]\n\n") }

func (s *eventWriter) comment() error { return s.text(": keep-alive\n\n") }

func (s *eventWriter) text(line string) error {
	s.buf.Reset()
	s.buf.WriteString(line)
	return s.send()
}

func (s *eventWriter) send() error {
	s.begin()
	before := time.Now()
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return errGone
	}
	if err := s.w.flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errGone
	}
	s.slow = time.Since(before) > slowWrite
	s.quiet.reset(s.keep)
	return nil
}

// A wire spells the events of a generation for one endpoint.
type wire interface {
	// begin is called once, before anything else is sent.
	begin(*eventWriter) error
	// item is called for every event but Done, deltas coalesced.
	item(*eventWriter, item) error
	// end is called after the last event and before [DONE].
	end(*eventWriter, *tally) error
}

// stream answers with the events of g as they come. It returns an error only
// while the header is not sent, and errGone.
func (a *API) stream(c *call, g *generation, t *tally, out wire) error {
	s := newEventWriter(c.w, a.o.KeepAlive)
	defer s.quiet.stop()
	begin := func() error {
		if s.begun {
			return nil
		}
		s.begin()
		return out.begin(s)
	}
	// one handles an item and says whether the header's time has begun to run.
	one := func(it item) (admitted bool, err error) {
		t.add(it)
		g.observe(it, t)
		switch it.Type {
		case engine.Admitted:
			return true, nil
		case engine.Done:
			return false, nil
		case engine.Delta, engine.Finish:
			if err := begin(); err != nil {
				return false, err
			}
		}
		return false, out.item(s, it)
	}

	var header, stall timer
	defer header.stop()
	defer stall.stop()
	var batch []item
	for open := true; open; {
		var err error
		select {
		case it, ok := <-g.items:
			if !ok {
				open, err = false, g.err()
				break
			}
			stall.reset(a.o.Stall)
			batch = append(batch[:0], it)
			if s.slow || len(g.items) >= backlog/2 {
				batch = g.pending(batch)
			}
			for _, it := range batch {
				var admitted bool
				if admitted, err = one(it); err != nil {
					break
				}
				if admitted && !s.begun {
					header.reset(a.o.HeaderDelay)
				}
			}
		case <-header.c():
			if err = begin(); err == nil {
				err = s.comment()
			}
		case <-s.quiet.c():
			err = s.comment()
		case <-stall.c():
			if len(g.items) > 0 {
				break // it is the client that was slow
			}
			err = fail(codeRequestTimeout, "", "the model made no progress for stall_timeout (%v); try again or raise it", a.o.Stall)
		case <-g.ended:
			err = g.over()
		}
		if err != nil {
			return a.streamError(c, s, err)
		}
	}
	if err := begin(); err != nil {
		return err
	}
	if err := out.end(s, t); err != nil {
		return a.streamError(c, s, err)
	}
	return s.done()
}

// streamError tells the client about err in the stream, if that has begun and
// somebody listens.
func (a *API) streamError(c *call, s *eventWriter, err error) error {
	if !s.begun || errors.Is(err, errGone) {
		return err
	}
	var e *apiError
	if !errors.As(err, &e) {
		e = fail(codeInternal, "", "something went wrong inside the server; its log has the details")
		e.cause = err
	}
	c.w.cause = e
	if e.cause != nil {
		c.w.cause = e.cause
	}
	return s.event(e.body())
}

// pending takes what has piled up behind batch and joins the deltas of each
// sequence. It stops at the first event of another type, and at as many events
// as can pile up: an engine may be faster than this loop.
func (g *generation) pending(batch []item) []item {
	for range backlog {
		last := &batch[len(batch)-1]
		if last.Type != engine.Delta {
			return batch
		}
		select {
		case it, ok := <-g.items:
			if !ok {
				return batch
			}
			batch = join(batch, it)
		default:
			return batch
		}
	}
	return batch
}

func join(batch []item, it item) []item {
	if it.Type == engine.Delta {
		for i := range batch {
			b := &batch[i]
			if b.Type == engine.Delta && b.prompt == it.prompt && b.Index == it.Index {
				b.Text += it.Text
				b.Logprobs = append(b.Logprobs[:len(b.Logprobs):len(b.Logprobs)], it.Logprobs...)
				return batch
			}
		}
	}
	return append(batch, it)
}

// A timer is a time.Timer that is off for durations that are not positive.
// The zero value is off.
type timer struct{ t *time.Timer }

func (t *timer) reset(d time.Duration) {
	switch {
	case d <= 0:
		t.stop()
	case t.t == nil:
		t.t = time.NewTimer(d)
	default:
		t.t.Reset(d)
	}
}

func (t *timer) stop() {
	if t.t != nil {
		t.t.Stop()
	}
}

func (t *timer) c() <-chan time.Time {
	if t.t == nil {
		return nil
	}
	return t.t.C
}
