package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/guard"
	"quern/httpapi/internal/reqlog"
)

// ServeHTTP answers one request.
func (a *API) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	w := &response{ResponseWriter: rw, rc: http.NewResponseController(rw), limit: a.Options.StreamWrite, http2: r.ProtoMajor == 2, path: pathUnmatched}
	if !w.http2 {
		w.deadline()
	}
	defer w.deadline() // of what net/http writes when this returns
	if r.ContentLength != 0 && a.Options.BodyIdle > 0 {
		// Also for bodies that no handler reads: net/http does so before it answers.
		w.rc.SetReadDeadline(begin.Add(a.Options.BodyIdle))
	}
	id := reqlog.ID(r.Header.Get("x-request-id"))
	w.Header().Set("x-request-id", id)
	if a.Options.Instance != "" {
		w.Header().Set(guard.InstanceHeader, a.Options.Instance)
	}
	r = r.WithContext(a.traced(w, r, reqlog.WithID(r.Context(), id), begin))

	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			a.log.ErrorContext(r.Context(), "panic in a request", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if w.status == 0 {
				a.writeError(&Call{W: w, R: r}, fault.Internal(nil))
				p = nil
			} else {
				p = http.ErrAbortHandler // the body so far must not pass for a whole one
			}
		}
		a.logRequest(w, r, time.Since(begin))
		a.audit(w, r, id, begin)
		w.endSpan(r)
		if p != nil {
			panic(p)
		}
	}()

	if len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/") {
		// No redirect: it would cost a POST its body.
		u := *r.URL
		u.Path = strings.TrimSuffix(u.Path, "/")
		r.URL = &u // r is a copy
	}
	allowed := a.guard.Share(w.Header(), r)
	if r.Method == http.MethodOptions {
		w.path = pathPreflight
		guard.Preflight(w, r, allowed)
		return
	}
	if c := a.inside(r); c != nil {
		c.W = w
		a.dispatch(c)
		return
	}
	a.router.ServeHTTP(w, r)
}

// dispatch runs a route's handler after the checks that do not need the body.
func (a *API) dispatch(c *Call) {
	defer c.W.release()
	c.W.path, c.W.open = c.Route.Path, c.Route.Open && c.Route.Path != pathUnmatched
	defer c.release()
	defer c.endWork()
	defer c.endBody()
	if h := c.W.Header(); c.Route.IDHeader != "" {
		h.Set(c.Route.IDHeader, h.Get("x-request-id"))
	}
	err := a.admit(c)
	if err == nil {
		if c.Route.Work {
			defer a.work.Leave()
			defer func() { c.pass.Leave() }()
		}
		err = c.Route.Handle(c)
	} else {
		c.W.Header().Del("Allow")
	}
	if err == nil {
		return
	}
	if err = fault.Classify(c.R.Context(), err); errors.Is(err, fault.ErrGone) {
		c.W.gone = true
		// A client that still reads must not take this for a whole answer.
		panic(http.ErrAbortHandler)
	}
	var e *fault.Error
	errors.As(err, &e)
	c.W.failure = e
	if c.W.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if e.Unread || c.unread() {
		a.refuse(c, e)
		return
	}
	a.writeError(c, e)
}

func (a *API) admit(c *Call) error {
	if err := a.guard.CheckBrowser(c.R); err != nil {
		return err
	}
	if !c.Route.Open {
		key, ok := a.authenticate(c.R)
		if !ok && c.Route.Admit != nil {
			key.Name, ok = c.Route.Admit(c.R)
		}
		if _, named := guard.Credential(c.R.Header); !ok && c.Route.Late && !named {
			c.unknown, ok = true, true
		}
		if !ok {
			return fault.New(fault.CodeInvalidKey, "", "Incorrect or missing API key. Send one of the server's as Authorization: Bearer KEY, or as x-api-key.")
		}
		c.know(a, key)
	}
	if t := c.R.TLS; c.W.key == "" && t != nil && len(t.VerifiedChains) > 0 {
		c.W.key = t.VerifiedChains[0][0].Subject.CommonName // of the client's certificate
	}
	if !c.Route.Work {
		return nil
	}
	if !a.work.Enter() {
		return ShuttingDown()
	}
	if c.unknown {
		return nil
	}
	var err error
	if c.pass, err = a.limits.Enter(c.W.key, a.guard.LimitOf(c.W.key), c.W.Header()); err != nil {
		a.work.Leave()
	}
	return err
}

// know notes whose call it is.
func (c *Call) know(a *API, key guard.Key) {
	if len(a.Keys()) > 0 && !c.unknown {
		c.owner = string(key.SHA256[:])
	}
	c.W.key, c.manages = key.Name, !c.unknown && (key.Manage || a.Options.ManageAll)
}

// Unknown reports whether the caller of a route that lets keys come late has named none yet.
func (c *Call) Unknown() bool { return c.unknown }

// Identify lets an unknown caller in by a key.
func (a *API) Identify(c *Call, key string) error {
	k, ok := a.guard.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + key}}})
	if !ok || key == "" {
		return fault.New(fault.CodeInvalidKey, "", "Incorrect or missing API key.")
	}
	pass, err := a.limits.Enter(k.Name, a.guard.LimitOf(k.Name), http.Header{})
	if err != nil {
		return err
	}
	c.unknown, c.pass = false, pass
	c.know(a, k)
	return nil
}

// authenticate returns the key of a caller, or of the owner of a line.
func (a *API) authenticate(r *http.Request) (guard.Key, bool) {
	if owner, ok := r.Context().Value(lineOwner{}).(string); ok {
		return a.lineKey(owner)
	}
	return a.guard.Authenticate(r)
}

// mostLogged is how much of the cause of a client's mistake the log takes, in bytes: it may repeat what
// the client sent.
const mostLogged = 500

// logged is what the log says of the cause of a failure; of the server's own it says all.
func logged(cause error, status int) string {
	said := cause.Error()
	if status < http.StatusInternalServerError && len(said) > mostLogged {
		said = strings.ToValidUTF8(said[:mostLogged], "") + "…"
	}
	return said
}

func (a *API) logRequest(w *response, r *http.Request, took time.Duration) {
	status := w.status
	if w.gone || status == 0 {
		status = fault.StatusGone
	}
	a.Metrics.Request(w.path, status)
	o := reqlog.Outcome{Path: w.path, Status: status}
	if e := w.failure; e != nil {
		o.Code = e.Code
		if status < 400 { // it came after the header of a stream
			o.Status = e.Status
		}
	}
	if !a.floods.Pass(o) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", fmt.Sprintf("%.200s", r.URL.Path)),
		slog.Int("status", status), slog.Duration("took", took),
	}
	if w.key != "" {
		attrs = append(attrs, slog.String("key", w.key))
	}
	if o.Code != "" {
		attrs = append(attrs, slog.String("code", string(o.Code)))
	}
	attrs = append(attrs, w.attrs...)
	if w.failure != nil && w.failure.Cause != nil {
		attrs = append(attrs, slog.String("error", logged(w.failure.Cause, o.Status)))
	}
	level := reqlog.Level(o.Status)
	if level == slog.LevelInfo && engine.IsBackground(r.Context()) {
		level = slog.LevelDebug // a batch has many lines, and its files say what came of them
	}
	a.log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}
