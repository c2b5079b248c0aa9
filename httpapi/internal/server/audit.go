package server

import (
	"errors"
	"net"
	"net/http"
	"time"

	"quern/engine/trace"
	"quern/httpapi/audit"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
)

// audit tells of a request that ended, unless its endpoint is open to everybody.
func (a *API) audit(w *response, r *http.Request, id string, begin time.Time) {
	if a.Options.Audit == nil || w.open || w.path == pathPreflight {
		return
	}
	e := audit.Entry{
		Time: begin, Request: id, Who: w.key, Method: r.Method, Path: w.path, Status: w.status,
		Model: w.used.model, Prompt: w.used.prompt, Output: w.used.output, Millis: time.Since(begin).Milliseconds(),
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		e.Address = host
	}
	if w.gone || e.Status == 0 {
		e.Status = fault.StatusGone
	}
	if w.failure != nil {
		e.Code = string(w.failure.Code)
	}
	e.Trace = trace.From(r.Context()).ID()
	a.tell(r, e)
}

// AuditLater tells of work that went on when its request was answered, and ended with err.
func (a *API) AuditLater(c *Call, model string, prompt, output int, err error) {
	if a.Options.Audit == nil {
		return
	}
	e := audit.Entry{Time: time.Now(), Request: reqlog.Of(c.R.Context()), Who: c.W.key, Method: c.R.Method, Path: c.W.path, Status: http.StatusOK,
		Model: model, Prompt: prompt, Output: output}
	if err != nil {
		f := fault.Internal(err)
		errors.As(err, &f)
		e.Status, e.Code = f.Status, string(f.Code)
	}
	a.tell(c.R, e)
}

func (a *API) tell(r *http.Request, e audit.Entry) {
	if err := a.Options.Audit.Write(e); err != nil {
		a.log.ErrorContext(r.Context(), "a request is missing in the audit log", "err", err)
	}
}
