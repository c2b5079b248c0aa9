package realtime

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/socket"
)

// A session is one client's conversation. The goroutine of run alone touches it; work
// beside it reaches it through main.
type session struct {
	api  *api
	c    *server.Call
	line *socket.Line
	beta bool

	link   context.Context // of the socket; outlives ctx, for a last word
	unlink context.CancelFunc
	ctx    context.Context // of work: ends when the client left or the session is over
	cancel context.CancelCauseFunc
	do     chan func()    // from work
	wg     sync.WaitGroup // of work

	id, conversation string
	expires          time.Time
	cfg              config
	items            []*item
	ear              ear
	turn             *following    // under way and transcribed as it comes, or nil
	followed         []*following  // that one, and those before it that are not done
	waiting          int           // samples that are not transcribed yet
	writing          chan struct{} // closed when the latest transcription has ended; nil before one
	resp             *response     // under way; nil when none is
	working          chan struct{} // closed when the work of the latest response has ended
	owed             bool          // a response to a turn that ended while one was under way
	active           bool          // something was said since the idle clock began

	turns, responses        int // for the log
	promptTokens, newTokens int
}

// errOver ends a session from this side.
var errOver = errors.New("the session is over")

// An ending is why a session's socket is closed: a status of RFC 6455 and words for it. The zero
// ending closes it without a word.
type ending struct {
	code   int
	reason string
}

func newSession(a *api, c *server.Call, conn *socket.Conn, cfg config, beta bool) *session {
	s := &session{api: a, c: c, beta: beta, cfg: cfg, do: make(chan func()),
		id: reqlog.NewID("sess_"), conversation: reqlog.NewID("conv_")}
	s.link, s.unlink = context.WithCancel(context.WithoutCancel(c.R.Context()))
	s.ctx, s.cancel = context.WithCancelCause(s.link)
	s.line = socket.NewLine(s.link, conn, &a.Options)
	if d := a.Options.Realtime.Total; d > 0 {
		s.expires = time.Now().Add(d)
	} else {
		s.expires = time.Now().Add(24 * time.Hour)
	}
	return s
}

// run serves the session until it ends, and its work with it.
func (s *session) run() {
	var why ending
	func() {
		defer s.wg.Wait()
		defer s.unlink()
		defer func() { s.line.Close(why.code, why.reason) }()
		defer s.cancel(errOver)
		why = s.serve()
	}()
	s.c.Used(s.cfg.model, s.promptTokens, s.newTokens)
	s.c.W.Note(slog.String("session", s.id), slog.String("model", s.cfg.model), slog.Int("turns", s.turns), slog.Int("responses", s.responses),
		slog.Int("prompt_tokens", s.promptTokens), slog.Int("output_tokens", s.newTokens), slog.String("end", why.reason))
}

// serve takes events and results of work, one at a time.
func (s *session) serve() ending {
	o := &s.api.Options
	events := make(chan []byte)
	s.wg.Go(func() { s.read(events) })
	s.wg.Go(func() { s.line.Watch(s.ctx, func() { s.cancel(fault.ErrGone) }) })
	idle, total := socket.Timer(o.Realtime.Idle), socket.Timer(o.Realtime.Total)
	defer idle.Stop()
	defer total.Stop()
	closing := s.api.Ending()

	s.emit(event{Type: "session.created", Session: s.object()})
	s.emit(event{Type: "conversation.created", Conversation: object{"id": s.conversation, "object": "realtime.conversation"}})
	for {
		select {
		case b := <-events:
			s.active = true
			s.handle(b)
		case f := <-s.do:
			s.active = true
			f()
		case <-idle.C:
			if !s.active && s.resp == nil {
				return s.over("no event came for realtime.idle (%v); connect again, or raise it", o.Realtime.Idle)
			}
			s.active = false
			idle.Reset(o.Realtime.Idle)
		case <-total.C:
			return s.over("the session has lasted for realtime.total (%v); connect again", o.Realtime.Total)
		case <-closing:
			if s.resp == nil {
				return s.shutdown()
			}
			closing = nil // the reply may be finished
		case <-s.c.R.Context().Done():
			return s.shutdown()
		case <-s.ctx.Done():
			return ending{reason: "the client left"}
		}
		if closing == nil && s.resp == nil {
			return s.shutdown()
		}
	}
}

func (s *session) shutdown() ending {
	e := server.ShuttingDown()
	s.fail(e, "")
	return ending{socket.GoingAway, e.Message}
}

// over tells the client why the session ends.
func (s *session) over(format string, args ...any) ending {
	e := fault.New(fault.CodeRequestTimeout, "", format, args...)
	e.Code = "session_expired"
	s.fail(e, "")
	return ending{socket.Normal, "the session expired"}
}

// read hands on what the client says. It ends the session when the client leaves.
func (s *session) read(events chan<- []byte) {
	p := newPace(s.api.Options.Realtime.Events, time.Now())
	for {
		b, err := s.line.Read(s.link)
		if err == nil {
			err = p.wait(s.ctx)
		}
		if err != nil {
			s.cancel(fault.ErrGone)
			return
		}
		select {
		case events <- b:
		case <-s.ctx.Done():
			return
		}
	}
}

// emit sends an event. A client that does not read ends the session.
func (s *session) emit(e event) {
	if s.ctx.Err() != nil {
		return
	}
	if s.beta && s.cfg.listens && e.Session != nil {
		e.Type = "transcription_" + e.Type
	}
	b, err := e.spell(s.beta)
	if err == nil && b != nil {
		err = s.line.Tell(b)
	}
	if err != nil {
		s.cancel(fault.ErrGone)
	}
}

// fail tells the client of a failure; id is the event's of the client that caused it.
func (s *session) fail(e *fault.Error, id string) {
	out := errorObject(e)
	out["event_id"] = orNull(id)
	s.emit(event{Type: "error", Error: out})
}

func errorObject(e *fault.Error) object {
	kind := e.Kind
	if kind == "" { // codes of this dialect alone
		kind = "invalid_request_error"
	}
	return object{"type": kind, "code": e.Code, "message": e.Message, "param": orNull(e.Param)}
}

// main has the session's goroutine run f, and waits for that, from work under ctx.
func (s *session) main(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case s.do <- func() { defer close(done); f() }:
		<-done
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) object() any { return s.cfg.spell(s.id, s.expires.Unix(), s.beta) }

// failure is what the client hears of an error of work under ctx; nil when it has left.
// What caused it is for the log.
func (s *session) failure(ctx context.Context, err error) *fault.Error {
	var e *fault.Error
	if !errors.As(fault.Classify(ctx, err), &e) {
		return nil
	}
	if e.Cause != nil {
		s.api.Options.Log.ErrorContext(ctx, "realtime session", "session", s.id, "code", e.Code, "error", e.Cause)
	}
	return e
}
