package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// ServeHTTP answers one request.
func (a *API) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	w := &response{ResponseWriter: rw, rc: http.NewResponseController(rw), limit: a.o.StreamWrite, path: pathUnmatched}
	w.deadline()
	if r.ContentLength != 0 && a.o.BodyIdle > 0 {
		// Also for bodies nobody reads: net/http does so before it answers.
		w.rc.SetReadDeadline(begin.Add(a.o.BodyIdle))
	}
	id := requestID(r.Header.Get("x-request-id"))
	w.Header().Set("x-request-id", id)
	r = r.WithContext(withRequestID(r.Context(), id))

	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			a.log.ErrorContext(r.Context(), "panic in a request", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if w.status == 0 {
				a.writeError(&call{w: w, r: r}, internal(nil))
				p = nil
			} else {
				p = http.ErrAbortHandler // the body so far must not pass for a whole one
			}
		}
		a.logRequest(w, r, time.Since(begin))
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
		Preflight(w, r, allowed)
		return
	}
	a.router.ServeHTTP(w, r)
}

// dispatch runs a route's handler after the checks that do not need the body.
func (a *API) dispatch(c *call) {
	defer c.w.release()
	c.w.path = c.route.Path
	defer c.release()
	err := a.admit(c)
	if err == nil {
		if c.route.Work {
			defer a.work.leave()
		}
		err = c.route.Handle(c)
	} else {
		c.w.Header().Del("Allow")
	}
	if err == nil {
		return
	}
	if err = classify(c.r.Context(), err); errors.Is(err, errGone) {
		c.w.gone = true
		// Whoever still reads must not take this for a whole answer.
		panic(http.ErrAbortHandler)
	}
	var e *apiError
	errors.As(err, &e)
	c.w.failure = e
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if e.unread {
		a.refuse(c, e)
		return
	}
	a.writeError(c, e)
}

func (a *API) admit(c *call) error {
	if err := a.guard.CheckBrowser(c.r); err != nil {
		return err
	}
	if !c.route.Open {
		name, ok := a.guard.Authenticate(c.r)
		if !ok {
			return fail(codeInvalidKey, "", "Incorrect or missing API key.")
		}
		c.w.key = name
	}
	if c.route.Work && !a.work.enter() {
		return errShuttingDown()
	}
	return nil
}

func (a *API) logRequest(w *response, r *http.Request, took time.Duration) {
	status := w.status
	if w.gone || status == 0 {
		status = statusGone
	}
	a.metrics.request(w.path, status)
	o := outcome{path: w.path, status: status}
	if e := w.failure; e != nil {
		o.code = e.code
		if status < 400 { // it came after the header of a stream
			o.status = e.status
		}
	}
	if !a.floods.pass(o) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", fmt.Sprintf("%.200s", r.URL.Path)),
		slog.Int("status", status), slog.Duration("took", took),
	}
	if w.key != "" {
		attrs = append(attrs, slog.String("key", w.key))
	}
	if o.code != "" {
		attrs = append(attrs, slog.String("code", string(o.code)))
	}
	attrs = append(attrs, w.attrs...)
	if w.failure != nil && w.failure.cause != nil {
		attrs = append(attrs, slog.String("error", w.failure.cause.Error()))
	}
	a.log.LogAttrs(context.WithoutCancel(r.Context()), logLevel(o.status), "request", attrs...)
}
