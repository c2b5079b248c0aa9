package eleven

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/socket"
)

// Bounds of WebSockets that receive text.
const (
	mostContexts = 5                // of one socket, as the vendor's
	mostEnding   = 16               // contexts of one socket that are at work, those that end included
	mostUnknown  = 16               // sockets whose clients have named no key yet
	firstMessage = 64 << 10         // bytes of a message of theirs
	keyTime      = 10 * time.Second // to name one
)

// Failures of a socket, by the vendor's names.
const (
	errIdle     fault.Code = "input_timeout_exceeded"
	errTotal    fault.Code = "session_expired"
	errContexts fault.Code = "max_active_conversations"
)

// sockets counts WebSockets that are open.
type sockets struct{ open, unknown atomic.Int64 }

// enter admits one unless there are as many as allowed.
func enter(n *atomic.Int64, most int, what string) (leave func(), err error) {
	if n.Add(1) > int64(most) {
		n.Add(-1)
		return nil, fault.New(engine.CodeQueueFull, "", "%d WebSockets %s, the most there may be; try again later", most, what)
	}
	return sync.OnceFunc(func() { n.Add(-1) }), nil
}

// streamInput answers GET …/stream-input: a text is spoken while it comes.
func (a api) streamInput(c *server.Call) error { return a.converse(c, false) }

// multiStreamInput answers GET …/multi-stream-input: several are.
func (a api) multiStreamInput(c *server.Call) error { return a.converse(c, true) }

func (a api) converse(c *server.Call, multi bool) error {
	in, err := readLiveQuery(c)
	if err != nil {
		return err
	}
	if c.Unknown() && in.key != "" {
		if err := a.Identify(c, in.key); err != nil {
			return err
		}
	}
	l := &live{api: a, c: c, in: in, multi: multi, contexts: map[string]*voiceContext{}, ended: make(chan *voiceContext)}
	leave := func() {}
	if c.Unknown() {
		leave, err = enter(&a.sockets.unknown, mostUnknown, "wait for their keys")
	} else {
		err = l.enter()
	}
	if err != nil {
		return err
	}
	defer leave()
	defer func() { l.leave() }()
	limit := a.Options.Realtime.Message
	if c.Unknown() {
		limit = min(limit, firstMessage)
	}
	conn, err := socket.Accept(c, limit)
	if err != nil || conn == nil {
		return err
	}
	l.run(conn, leave)
	return nil
}

// A live is one WebSocket that receives text. The goroutine of run owns it.
type live struct {
	api   api
	c     *server.Call
	in    *liveQuery
	multi bool
	line  *socket.Line
	left  func()

	link   context.Context // of the socket; outlives ctx, for a last message
	unlink context.CancelFunc
	ctx    context.Context // of work
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	contexts map[string]*voiceContext
	working  int                // contexts that are at work, those that end included
	ended    chan *voiceContext // from work
	closing  bool               // no more text comes
	last     time.Time          // a message came, or something was spoken

	symbols atomic.Int64
}

// enter admits the socket and opens its model.
func (l *live) enter() error {
	leave, err := enter(&l.api.sockets.open, l.api.Options.Realtime.Sessions, "are open (realtime.sessions)")
	if err != nil {
		return err
	}
	if err := audio.StartSpeech(l.api.API, l.c, l.api.Ours(l.in.model, engine.KindSpeech), &l.in.SpeakRequest); err != nil {
		leave()
		return err
	}
	l.left = leave
	return nil
}

func (l *live) leave() {
	if l.left != nil {
		l.left()
	}
}

// run serves the socket until it ends, and its work with it. known is called once the
// client has named its key.
func (l *live) run(conn *socket.Conn, known func()) {
	l.link, l.unlink = context.WithCancel(context.WithoutCancel(l.c.R.Context()))
	l.ctx, l.cancel = context.WithCancelCause(l.link)
	l.line = socket.NewLine(l.link, conn, &l.api.Options)
	var status int
	var reason string
	func() {
		defer l.wg.Wait()
		defer l.unlink()
		defer func() { l.line.Close(status, reason) }()
		defer l.cancel(context.Canceled)
		err := l.serve(known)
		var e *fault.Error
		if err == nil {
			status = socket.Normal
		} else if errors.As(fault.Classify(l.ctx, err), &e) {
			f := failureOf(e)
			status, reason = f.Code, f.Message
			l.cancel(context.Canceled)
			_ = l.write(f)
			l.c.W.Note(slog.String("end", string(e.Code)))
		}
	}()
	if l.c.Lease != nil {
		l.c.LogTokens(int(l.symbols.Load()), 0)
	}
}

// errDone: all text was spoken.
var errDone = errors.New("done")

// serve handles messages and contexts that have ended, one at a time.
func (l *live) serve(known func()) error {
	messages := make(chan []byte)
	l.wg.Go(func() { l.read(messages) })
	l.wg.Go(func() { l.line.Watch(l.ctx, func() { l.cancel(fault.ErrGone) }) })
	l.last = time.Now()
	var total, key <-chan time.Time
	if d := l.api.Options.Realtime.Total; d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		total = t.C
	}
	if l.c.Unknown() {
		t := time.NewTimer(keyTime)
		defer t.Stop()
		key = t.C
	}
	idle := time.NewTimer(l.in.idle)
	defer idle.Stop()
	closing := l.api.Ending()
	for {
		select {
		case b := <-messages:
			err := l.take(b)
			if errors.Is(err, errDone) {
				return nil
			}
			if err != nil {
				return err
			}
			if !l.c.Unknown() && key != nil {
				key = nil
				known()
			}
		case v := <-l.ended:
			if done, err := l.finished(v); done || err != nil {
				return err
			}
		case <-idle.C:
			if err := l.quiet(); err != nil {
				return err
			}
			idle.Reset(l.wait())
		case <-key:
			return fault.New(fault.CodeInvalidKey, "", "no key came within %v; send the header xi-api-key, or xi_api_key in the first message", keyTime)
		case <-total:
			e := fault.New(fault.CodeRequestTimeout, "", "the connection has lasted for realtime.total (%v); connect again", l.api.Options.Realtime.Total)
			e.Code = errTotal
			return e
		case <-closing:
			if l.working == 0 {
				return server.ShuttingDown()
			}
			closing = nil // text that has come may be spoken
			l.endAll(true)
		case <-l.c.R.Context().Done():
			return server.ShuttingDown()
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
}

// take handles a message.
func (l *live) take(b []byte) error {
	l.last = time.Now()
	m, err := l.api.readLiveMessage(l.c, b, l.multi)
	if err != nil {
		return err
	}
	if l.c.Unknown() {
		if err := l.api.Identify(l.c, m.key); err != nil {
			return err
		}
		if err := l.enter(); err != nil {
			return err
		}
		l.line.Limit(l.api.Options.Realtime.Message)
	}
	if l.closing {
		return nil
	}
	if m.close || !l.multi && m.hasText && m.text == "" {
		l.endAll(!l.multi || m.flush)
		if l.working == 0 {
			if !l.multi {
				_ = l.write(l.answer("", nil, true, nil, nil))
			}
			return errDone
		}
		return nil
	}
	v := l.contexts[m.context]
	if v == nil {
		// An empty message, as one that keeps alive, begins no text.
		if l.multi && m.text == "" {
			return nil
		}
		if v, err = l.begin(m); err != nil {
			return err
		}
	}
	v.last = l.last
	if m.speed != nil && *m.speed != v.speed {
		return fault.New(engine.CodeInvalidValue, "voice_settings", "voice_settings.speed cannot change within a text; leave it out, or begin another")
	}
	if !m.closeContext || m.flush {
		if err := v.take(m, l.in.auto); err != nil {
			return err
		}
	}
	if m.closeContext {
		delete(l.contexts, m.context)
		v.drop()
	}
	return nil
}

// begin begins a text.
func (l *live) begin(m *liveMessage) (*voiceContext, error) {
	var full *fault.Error
	switch {
	case len(l.contexts) >= mostContexts:
		full = fault.New(engine.CodeInvalidValue, "context_id", "%d contexts of this connection are open, the most there may be; close one first", mostContexts)
	case l.working >= mostEnding:
		full = fault.New(engine.CodeInvalidValue, "context_id", "%d contexts of this connection are being spoken, closed ones too, the most there may be; wait for the is_final of one", mostEnding)
	}
	if full != nil {
		full.Code = errContexts
		return nil, full
	}
	v := &voiceContext{id: m.context, live: l, speed: 1, schedule: liveSchedule, wake: make(chan struct{}, 1), last: l.last}
	if m.speed != nil {
		v.speed = *m.speed
		m.speed = nil
	}
	l.contexts[m.context] = v
	l.working++
	ctx, cancel := context.WithCancel(l.ctx)
	v.cancel = cancel
	l.wg.Go(func() {
		defer cancel()
		symbols, err := v.speak(ctx)
		l.symbols.Add(int64(symbols))
		if err == nil || ctx.Err() != nil && l.ctx.Err() == nil { // all is spoken, or it was closed
			err = l.send(l.answer(v.id, nil, true, nil, nil))
		}
		if err != nil {
			l.cancel(err)
		}
		select {
		case l.ended <- v:
		case <-l.ctx.Done():
		}
	})
	return v, nil
}

// endAll ends all texts: all that has come is spoken, or only the part that was flushed.
func (l *live) endAll(all bool) {
	l.closing = true
	for _, v := range l.contexts {
		if all {
			v.end()
		} else {
			v.drop()
		}
	}
	clear(l.contexts)
}

// finished removes a text whose work has ended, and reports whether it was the last.
func (l *live) finished(v *voiceContext) (done bool, err error) {
	l.working--
	l.last = time.Now()
	if l.contexts[v.id] == v {
		delete(l.contexts, v.id)
	}
	return l.closing && l.working == 0, nil
}

// wait is how long it takes until a text or the socket may have been quiet for too long.
func (l *live) wait() time.Duration {
	since := l.last
	for _, v := range l.contexts {
		if at, _ := v.quiet(); at.Before(since) {
			since = at
		}
	}
	return max(time.Until(since.Add(l.in.idle)), time.Second)
}

// quiet ends texts without a message for too long, unless they are being spoken.
func (l *live) quiet() error {
	now := time.Now()
	for id, v := range l.contexts {
		at, busy := v.quiet()
		if busy {
			at = now
		}
		if at.After(l.last) {
			l.last = at
		}
		if l.multi && now.Sub(at) >= l.in.idle {
			delete(l.contexts, id)
			v.drop()
		}
	}
	if l.closing || now.Sub(l.last) < l.in.idle {
		return nil
	}
	e := fault.New(fault.CodeRequestTimeout, "", "no text came for inactivity_timeout (%v); send text in time, a space to keep the connection, or end it", l.in.idle)
	e.Code = errIdle
	return e
}
