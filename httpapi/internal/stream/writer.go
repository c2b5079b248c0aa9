// Package stream writes streamed answers: their framing, and the timers of
// late, quiet and stalled streams.
package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"quern/httpapi/internal/fault"
)

// A Framing is how a stream sets its values apart, and what it sends when there is
// none for a while.
type Framing struct {
	Mime   string
	Before string // of each value; the line break that ends JSON follows it
	After  string
	Idle   string // "" sends nothing
	// Fail sends a failure in the stream; nil where the format has none.
	Fail func(*Writer, *fault.Error) error
}

// The framings of JSON. Clients skip comments, and empty lines.
var (
	ServerEvents = Framing{
		Mime: "text/event-stream", Before: "data: ", After: "\n", Idle: ": keep-alive\n\n",
		Fail: func(s *Writer, e *fault.Error) error { return s.Event(e.Body()) },
	}
	JSONLines = Framing{Mime: "application/x-ndjson", Idle: "\n"}
)

// SoundOf is the framing of a sound file: none, as silence would be heard.
func SoundOf(mime string) Framing { return Framing{Mime: mime} }

// A Response takes a stream. Flush's error is http.ErrNotSupported where it cannot.
type Response interface {
	http.ResponseWriter
	Flush() error
}

// A Writer writes a stream. The header goes out with the first value, or when
// its time is over, so an earlier failure has a status of its own.
type Writer struct {
	Framing
	w    Response
	buf  bytes.Buffer
	json *json.Encoder

	Begun bool         // the header is sent
	First func() error // opens the stream after the header; may be nil

	delay  time.Duration // how long the header waits for a value
	header timer         // runs out when the header is due
	keep   time.Duration // silence that quiet ends
	quiet  timer         // runs out when something has to be sent
}

// NewWriter makes the writer of an answer, whose header waits no longer than delay for
// the first value, and which is never silent for longer than keep. The caller must call
// Stop.
func NewWriter(w Response, f Framing, delay, keep time.Duration) *Writer {
	s := &Writer{Framing: f, w: w, delay: delay, keep: keep}
	s.json = json.NewEncoder(&s.buf)
	s.json.SetEscapeHTML(false)
	return s
}

// Stop ends its clocks.
func (s *Writer) Stop() {
	s.header.stop()
	s.quiet.stop()
}

// Expect starts the time after which the header is sent without a value, unless it
// runs already.
func (s *Writer) Expect() {
	if !s.Begun && s.header.t == nil {
		s.header.reset(s.delay)
	}
}

// Begin sends the header, once.
func (s *Writer) Begin() error {
	if s.Begun {
		return nil
	}
	s.Begun = true
	s.header.stop()
	h := s.w.Header()
	h.Set("Content-Type", s.Mime)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.w.WriteHeader(http.StatusOK)
	if s.First != nil {
		return s.First()
	}
	return nil
}

// Event sends v on one line: encoded JSON has no raw line breaks.
func (s *Writer) Event(v any) error {
	if err := s.Begin(); err != nil {
		return err
	}
	s.buf.Reset()
	s.buf.WriteString(s.Before)
	if err := s.json.Encode(v); err != nil {
		return err
	}
	s.buf.WriteString(s.After)
	return s.send(s.buf.Bytes())
}

// Named sends v like Event, under a name: clients of some dialects go by it.
func (s *Writer) Named(name string, v any) error {
	before := s.Before
	defer func() { s.Before = before }()
	s.Before = "event: " + name + "\n" + before
	return s.Event(v)
}

// Bytes sends p as it is.
func (s *Writer) Bytes(p []byte) error {
	if err := s.Begin(); err != nil {
		return err
	}
	return s.send(p)
}

// alive shows that the stream goes on: it sends the header if that is still due.
func (s *Writer) alive() error { return s.Bytes([]byte(s.Idle)) }

func (s *Writer) send(p []byte) error {
	if _, err := s.w.Write(p); err != nil {
		return fault.ErrGone
	}
	if err := s.w.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fault.ErrGone
	}
	if s.Idle != "" {
		s.quiet.reset(s.keep)
	}
	return nil
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
