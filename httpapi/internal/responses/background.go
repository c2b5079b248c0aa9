package responses

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// A job makes a response that no request waits for.
type job struct {
	streamed bool // its events are kept, for clients that ask for them
	stop     context.CancelCauseFunc
	done     chan struct{} // closed when it is over

	mu     sync.Mutex
	events []sentEvent
	bytes  int64
	more   chan struct{} // closed when there are more events, or will be none
	over   bool
}

// A sentEvent is one event of a stream.
type sentEvent struct {
	name string
	raw  json.RawMessage
}

// errCancelled stops a job whose client wants it no more.
var errCancelled = errors.New("cancelled")

func newJob(streamed bool) *job {
	return &job{streamed: streamed, done: make(chan struct{}), more: make(chan struct{})}
}

// size is the bytes of its events.
func (j *job) size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes
}

// add keeps an event of n bytes.
func (j *job) add(t sentEvent, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, t)
	j.bytes += int64(n)
	close(j.more)
	j.more = make(chan struct{})
}

// end marks that there are no more events.
func (j *job) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	close(j.more)
}

// from returns the events from an index on, and a channel to wait on when they are not the last.
func (j *job) from(i int) (events []sentEvent, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	events = j.events[min(i, len(j.events)):]
	if j.over {
		return events, nil
	}
	return events, j.more
}

// background begins to make a response and answers with it as it stands, or with its events.
func (a *api) background(c *server.Call, r *request) error {
	if _, err := a.Options.Engine.Find(r.Model, engine.KindChat); err != nil {
		return err
	}
	r.object.Status = queued
	j := newJob(r.Stream)
	ctx, stop := context.WithCancelCause(context.WithoutCancel(c.R.Context()))
	j.stop = stop
	e := &entry{owner: r.owner, object: r.object, input: r.input, job: j}
	if err := a.store.add(ctx, e, true); err != nil {
		stop(nil)
		return err
	}
	shown := r.object
	if !a.Beside(ctx, "response in the background", func(ctx context.Context) error { return a.work(ctx, c, r, e) }) {
		defer stop(nil)
		close(j.done)
		return errors.Join(server.ShuttingDown(), a.store.remove(ctx, e))
	}
	if r.Stream {
		return a.follow(c, j, 0)
	}
	return a.WriteJSON(c, 200, shown)
}

// work makes the response of an entry. It returns why that failed.
func (a *api) work(ctx context.Context, c *server.Call, r *request, e *entry) (err error) {
	j := e.job
	defer close(j.done)
	defer j.stop(nil)
	defer j.end()
	p := newReply(r)
	p.save = func(o object) bool {
		a.store.finish(context.WithoutCancel(ctx), e, o)
		return true
	}
	if j.streamed {
		p.tell = func(name string, event any) error {
			raw, err := server.Marshal(event)
			if err != nil {
				return err
			}
			n := len(raw) + 128
			if err := a.store.grow(e, n); err != nil {
				return err
			}
			j.add(sentEvent{name, raw}, n)
			return nil
		}
	}
	err = a.make(ctx, c, r, e, p)
	if err == nil {
		return nil
	}
	end := p.cancel
	if !errors.Is(context.Cause(ctx), errCancelled) {
		f, ok := errors.AsType[*fault.Error](fault.Classify(ctx, err))
		if !ok {
			f = fault.Internal(err)
		}
		err, end = f, func() error { return p.fail(f) }
	} else {
		err = nil
	}
	if end() != nil { // there was no room for its last event
		p.tell = nil
		end()
	}
	return err
}

// make generates the response, and ends it when that succeeded.
func (a *api) make(ctx context.Context, c *server.Call, r *request, e *entry, p *reply) (err error) {
	defer fault.Recovered(&err)
	if err := p.state("response.created"); err != nil {
		return err
	}
	if err := p.state("response.queued"); err != nil {
		return err
	}
	l, err := a.Open(ctx, r.Model, engine.KindChat)
	if err != nil {
		return err
	}
	defer l.Release()
	p.object.Model = l.Info().ID
	if k := r.Sampling.Constraint; k != nil {
		if _, err := l.CheckConstraint(ctx, k); err != nil {
			return err
		}
	}
	t := r.start(ctx, a, l, p, nil) // its answer was given
	defer t.Close()
	defer func() { // also of a response that was cut short
		now := t.SoFar()
		c.Spend(now.PromptTokens + now.OutputTokens)
		a.AuditLater(c, l.Info().ID, now.PromptTokens, now.OutputTokens, err)
	}()
	if err := t.Each(ctx, a.Options.Stall, func(ev turn.Event) error {
		if ev.Type != engine.Admitted {
			return p.Event(ev)
		}
		p.object.Status = inProgress
		a.store.update(ctx, e, p.object)
		return p.state("response.in_progress")
	}); err != nil {
		return err
	}
	return p.End()
}

// follow streams the events of a job from a number on. The job goes on when the client
// leaves.
func (a *api) follow(c *server.Call, j *job, from int) error {
	s := a.NewStream(c, stream.ServerEvents)
	tell := func(t sentEvent) error {
		if t.name == "" {
			return s.Bytes(done)
		}
		return s.Named(t.name, t.raw)
	}
	return server.StreamWork(a.API, c, s, tell, func(ctx context.Context, send func(sentEvent) error) error {
		for {
			events, more := j.from(from)
			for _, t := range events {
				if err := send(t); err != nil {
					return err
				}
			}
			from += len(events)
			if more == nil {
				return send(sentEvent{})
			}
			select {
			case <-more:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}
