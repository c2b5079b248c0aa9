// Package server takes requests in and writes answers: what the dialects stand on. A
// dialect is a table of routes; server guards them, counts them, opens models for them,
// and has one way to read a body, to answer whole and to stream.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"

	"quern/engine"
	"quern/engine/budget"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/guard"
	"quern/httpapi/internal/limits"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/spool"
)

// An API is the HTTP face of an engine.
type API struct {
	Options Options
	Metrics *metrics.Metrics
	Temp    *spool.Pool
	Started time.Time

	router *httprouter.Router
	inner  []inner
	routes []Route
	log    *slog.Logger
	floods reqlog.Floods
	ready  atomic.Pointer[string] // why not ready; nil when ready
	leaves atomic.Bool            // it is about to shut down
	guard  guard.Guard
	work   guard.Gate
	limits limits.Limits
	ending chan struct{}
	ended  chan struct{} // closed when work that goes on is cancelled
	bodies budget.Budget // of decoded JSON bodies
	busy   busy

	unknownMu sync.Mutex
	unknown   map[string]bool // fields already logged, by path and name
}

// New makes an API of dialects. It fails on options that contradict each other.
func New(o Options, dialects func(*API) []Dialect) (*API, error) {
	if o.Engine == nil {
		return nil, errors.New("httpapi: no engine")
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	a := &API{
		Options: o, Temp: spool.NewPool(o.TempFiles), Started: time.Now(),
		log: o.Log, floods: reqlog.Floods{Log: o.Log}, unknown: map[string]bool{},
		guard:  guard.Guard{AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins},
		limits: limits.Limits{Now: o.Now}, bodies: bodyBudget(o.JSONBody), busy: newBusy(), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	a.guard.SetKeys(o.Keys)
	a.guard.Loopback.Store(o.BoundLoopback)
	a.Metrics = metrics.New(o.Engine, a.Temp, *o.VLLMNames, metrics.Build{Version: o.Version, Revision: o.Revision}, a.log)
	spoken := dialects(a)
	a.routes = all(spoken)
	a.router = a.newRouter(spoken)
	for path := range o.RequestTimeouts {
		if !slices.ContainsFunc(a.routes, func(r Route) bool { return r.Path == path }) {
			return nil, fmt.Errorf("httpapi: request_timeout_overrides: there is no endpoint %q", path)
		}
	}
	return a, nil
}

// SetReady says why /readyz should answer 503; "" makes it answer 200.
func (a *API) SetReady(reason string) {
	if reason == "" {
		a.ready.Store(nil)
		return
	}
	a.ready.Store(&reason)
}

// Keys are those that let callers in now; without any, every caller is.
func (a *API) Keys() []guard.Key { return a.guard.Keys() }

// SetKeys replaces them. Requests under way go on. The caller answers for what Serve asks
// of an address that other machines can reach.
func (a *API) SetKeys(keys []guard.Key) { a.guard.SetKeys(keys) }

// Knows reports whether a request has a valid key, or needs none.
func (a *API) Knows(r *http.Request) bool {
	_, ok := a.guard.Authenticate(r)
	return ok
}

// Unready says why /readyz answers 503; "" that it does not.
func (a *API) Unready() string {
	if a.Leaving() {
		return "shutting down"
	}
	if p := a.ready.Load(); p != nil {
		return *p
	}
	return ""
}

// Leaving reports whether the server shuts down or is about to.
func (a *API) Leaving() bool { return a.leaves.Load() || a.work.IsClosed() }

// Ending is closed when the server begins to shut down: what would last for hours ends
// then, instead of being waited for.
func (a *API) Ending() <-chan struct{} { return a.ending }

// Beside starts work that goes on when its request is answered, and of which a shutdown
// waits for as long as for requests. It reports whether there is still time for it. What
// the work fails with is logged, as what failed.
func (a *API) Beside(ctx context.Context, what string, work func(context.Context) error) bool {
	if !a.work.Enter() {
		return false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-a.ended:
			cancel(ShuttingDown())
		case <-ctx.Done():
		}
	}()
	go func() {
		defer a.work.Leave()
		defer cancel(nil)
		if e := (*fault.Error)(nil); errors.As(work(ctx), &e) {
			a.log.LogAttrs(ctx, reqlog.Level(e.Status), what+" failed", slog.String("code", string(e.Code)), slog.Any("error", e.Cause))
		}
	}()
	return true
}

// requestTimeout returns the limit of a route and the configuration key that
// sets it.
func (a *API) requestTimeout(path string) (d time.Duration, key string) {
	if d, ok := a.Options.RequestTimeouts[path]; ok {
		return d, fmt.Sprintf("request_timeout_overrides[%q]", path)
	}
	return a.Options.RequestTimeout, "request_timeout"
}

// WithRequestTimeout starts the clock of a request that is answered in one
// piece. It starts after the model is loaded. A line of a batch has the batch's time.
func (a *API) WithRequestTimeout(ctx context.Context, c *Call) (context.Context, context.CancelFunc) {
	d, key := a.requestTimeout(c.Route.Path)
	if d <= 0 || engine.IsBackground(ctx) {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fault.New(fault.CodeRequestTimeout, "",
		"the request took longer than %s (%v); raise it, ask for fewer tokens, or set \"stream\": true", key, d))
}

// InTime has the engine answer a request in one piece, in the time there is for that.
func InTime[Q, R any](a *API, c *Call, ask func(context.Context, Q) (R, error), q Q) (R, error) {
	ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
	defer cancel()
	res, err := ask(ctx, q)
	if err != nil {
		err = fault.Classify(ctx, err)
	}
	return res, err
}

// Promptly is InTime of what is asked of a model without a request.
func Promptly[R any](a *API, c *Call, ask func(context.Context) (R, error)) (R, error) {
	return InTime(a, c, func(ctx context.Context, _ struct{}) (R, error) { return ask(ctx) }, struct{}{})
}

// Ours returns the model of a kind that a name means where clients name those of another
// service: one of ours has its own, all others mean the default one.
func (a *API) Ours(name string, kind engine.Kind) string {
	m, err := a.Options.Engine.Find(name, kind)
	if err != nil {
		m, err = a.Options.Engine.Find("", kind)
	}
	if err != nil {
		return ""
	}
	return m.Info().ID
}

// Detector is what tells speech from other sound for the recogniser of a name.
func (a *API) Detector(recogniser string) (engine.Detector, error) {
	m, err := a.Options.Engine.Find(recogniser, engine.KindTranscription)
	if err != nil {
		return nil, err
	}
	return m.Detector()
}

// Prepare finds the model a request names, which has to be of one of kinds, and makes
// it resident for the rest of the call.
func (a *API) Prepare(c *Call, model string, kinds ...engine.Kind) (engine.ModelInfo, error) {
	begin := time.Now()
	c.release() // a request that holds one model must not wait for another
	c.beginWork(model, begin, kinds)
	lease, err := a.Open(c.R.Context(), model, kinds...)
	if err != nil {
		return engine.ModelInfo{}, err
	}
	c.Lease, c.Loading = lease, time.Since(begin)
	if !engine.IsBackground(c.R.Context()) {
		c.leave = a.busy.enter(lease.Info().ID)
	}
	c.loaded(lease.Info().ID, begin)
	return lease.Info(), nil
}

// Open makes the model of a name, which has to be of one of kinds, resident, in the time
// there is for that.
func (a *API) Open(ctx context.Context, model string, kinds ...engine.Kind) (engine.Lease, error) {
	if d := a.Options.LoadTimeout; d > 0 && !engine.IsBackground(ctx) {
		what := "the model"
		if model != "" {
			what = fmt.Sprintf("model %.100q", model)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fault.New(engine.CodeLoadTimeout, "",
			"%s was not loaded within load_timeout (%v); loading goes on, so try again later or raise load_timeout", what, d))
		defer cancel()
	}
	lease, err := a.Options.Engine.Open(ctx, model, kinds...)
	if err != nil {
		return nil, fault.Classify(ctx, err)
	}
	return lease, nil
}
