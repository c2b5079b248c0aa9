package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// writeError answers with e, which must come before anything else was written.
func (a *API) writeError(c *call, e *apiError) {
	h := c.w.Header()
	if e.status >= 500 && !e.retry {
		h.Set("x-should-retry", "false")
	}
	if e.status == http.StatusServiceUnavailable && e.retry {
		after := e.after
		if after <= 0 {
			after = time.Second
		}
		h.Set("x-should-retry", "true")
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	switch e.code {
	case codeInvalidKey:
		h.Set("WWW-Authenticate", "Bearer")
	case codeShuttingDown:
		h.Set("Connection", "close")
	}
	status, body := e.status, any(e.body())
	if c.route != nil && c.route.Spell != nil {
		status, body = c.route.Spell(e, c.r)
	}
	a.writeJSON(c, status, body)
}
