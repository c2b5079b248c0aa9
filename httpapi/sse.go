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

// A framing is how a stream sets its values apart, and what it sends when there is
// none for a while.
type framing struct {
	mime   string
	before string // of each value; the line break that ends JSON follows it
	after  string
	idle   string // "" sends nothing
}

// The framings of JSON. Clients skip comments, and empty lines.
var (
	serverEvents = framing{mime: "text/event-stream", before: "data: ", after: "\n", idle: ": keep-alive\n\n"}
	jsonLines    = framing{mime: "application/x-ndjson", idle: "\n"}
)

// soundOf is the framing of a sound file: none, as silence would be heard.
func soundOf(mime string) framing { return framing{mime: mime} }

// An eventWriter writes a stream. The header goes out with the first value, or when
// its time is over, so whatever fails earlier has a status of its own.
type eventWriter struct {
	framing
	w    *response
	buf  bytes.Buffer
	json *json.Encoder
	slow bool // the last write blocked

	begun  bool          // the header is sent
	first  func() error  // opens the stream after the header; may be nil
	delay  time.Duration // what the header waits for a value
	header timer         // runs out when the header is due
	keep   time.Duration // silence that quiet ends
	quiet  timer         // runs out when something has to be sent
}

// newStream makes the writer of an answer. The caller must call stop.
func (a *API) newStream(c *call, f framing) *eventWriter {
	s := &eventWriter{framing: f, w: c.w, delay: a.o.HeaderDelay, keep: a.o.KeepAlive}
	s.json = json.NewEncoder(&s.buf)
	s.json.SetEscapeHTML(false)
	return s
}

func (s *eventWriter) stop() {
	s.header.stop()
	s.quiet.stop()
}

// expect starts the time after which the header is sent without a value, unless it
// runs already.
func (s *eventWriter) expect() {
	if !s.begun && s.header.t == nil {
		s.header.reset(s.delay)
	}
}

// begin sends the header, once.
func (s *eventWriter) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	s.header.stop()
	h := s.w.Header()
	h.Set("Content-Type", s.mime)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.w.WriteHeader(http.StatusOK)
	if s.first != nil {
		return s.first()
	}
	return nil
}

// event sends v on one line: encoded JSON has no raw line breaks.
func (s *eventWriter) event(v any) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.buf.Reset()
	s.buf.WriteString(s.before)
	if err := s.json.Encode(v); err != nil {
		return err
	}
	s.buf.WriteString(s.after)
	return s.send(s.buf.Bytes())
}

// bytes sends p as it is.
func (s *eventWriter) bytes(p []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	return s.send(p)
}

func (s *eventWriter) done() error { return s.bytes([]byte("data: [DONE]\n\n")) }

// alive shows that the stream goes on: it sends the header if that is still due.
func (s *eventWriter) alive() error { return s.bytes([]byte(s.idle)) }

func (s *eventWriter) send(p []byte) error {
	before := time.Now()
	if _, err := s.w.Write(p); err != nil {
		return errGone
	}
	if err := s.w.flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errGone
	}
	s.slow = time.Since(before) > slowWrite
	if s.idle != "" {
		s.quiet.reset(s.keep)
	}
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
	s := a.newStream(c, serverEvents)
	defer s.stop()
	s.first = func() error { return out.begin(s) }
	one := func(it item) error {
		t.add(it)
		g.observe(it, t)
		switch it.Type {
		case engine.Admitted:
			s.expect() // the queue may answer with a status of its own
			return nil
		case engine.Done:
			return nil
		case engine.Delta, engine.Finish:
			if err := s.begin(); err != nil {
				return err
			}
		}
		return out.item(s, it)
	}
	var batch []item
	err := relay(a, s, feed[item]{g.items, g.err, g.ended, g.over}, func(it item) error {
		batch = append(batch[:0], it)
		if s.slow || len(g.items) >= backlog/2 {
			batch = g.pending(batch)
		}
		for _, it := range batch {
			if err := one(it); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.begin()
	}
	if err == nil {
		err = out.end(s, t)
	}
	if err == nil {
		err = s.done()
	}
	return a.streamError(c, s, err)
}

// streamError tells the client about err, nil for none, in the stream, if that has
// begun and has room for it, and somebody listens. Otherwise it returns err.
func (a *API) streamError(c *call, s *eventWriter, err error) error {
	if err == nil || !s.begun || s.framing != serverEvents || errors.Is(err, errGone) {
		return err
	}
	var e *apiError
	if !errors.As(err, &e) {
		e = fail(codeInternal, "", "something went wrong inside the server; its log has the details")
		e.cause = err
	}
	c.w.failure = e
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
