package server

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// writeError answers with e, which must come before anything else was written.
func (a *API) writeError(c *Call, e *fault.Error) {
	h := c.W.Header()
	if (e.Status >= 500 || e.Status == http.StatusConflict || e.Status == http.StatusRequestTimeout) && !e.Retry {
		h.Set("x-should-retry", "false")
	}
	if (e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests) && e.Retry {
		after := e.After
		if after <= 0 {
			after = time.Second
		}
		h.Set("x-should-retry", "true")
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	switch e.Code {
	case fault.CodeInvalidKey:
		h.Set("WWW-Authenticate", "Bearer")
	case engine.CodeShuttingDown:
		h.Set("Connection", "close")
	}
	status, body := e.Status, any(e.Body())
	if c.Route != nil && c.Route.Fail != nil {
		status, body = c.Route.Fail(e, c.R)
	}
	a.WriteJSON(c, status, body)
}
