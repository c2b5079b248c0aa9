package server

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"quern/httpapi/internal/body"
	"quern/httpapi/internal/guard"
)

const (
	maxWarnings     = 8    // of one answer
	maxWarning      = 500  // bytes of one
	maxUnknownNames = 1000 // unknown fields remembered so that each is logged once
)

// A request is what a body says: an object or a form.
type request interface {
	Strays() []body.Stray // fields that the endpoint did not read
	Err() error
}

// Finish is called when a body was read: it tells of fields that were not read, and
// returns the first error found in it.
func (a *API) Finish(c *Call, b request) error {
	for _, s := range b.Strays() {
		a.logStray(c, s)
		if s.Meant != "" {
			c.Warn(fmt.Sprintf("unknown field %q is ignored; did you mean %q?", s.Name, s.Meant))
		}
	}
	return b.Err()
}

// Warn tells the client of something in its request that has no effect, unless it was
// told enough. Text beyond ASCII is escaped, as headers want it.
func (c *Call) Warn(text string) {
	if h := c.W.Header(); len(h.Values(guard.WarningHeader)) < maxWarnings {
		if len(text) > maxWarning {
			text = text[:maxWarning] + "..."
		}
		h.Add(guard.WarningHeader, ascii(text))
	}
}

// ascii escapes what is no printable ASCII.
func ascii(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

// logStray notes a field that is not read, once per endpoint and name.
func (a *API) logStray(c *Call, s body.Stray) {
	name := c.Route.Path + " " + s.Name
	a.unknownMu.Lock()
	news := !a.unknown[name] && len(a.unknown) < maxUnknownNames
	if news {
		a.unknown[name] = true
	}
	a.unknownMu.Unlock()
	switch {
	case !news:
	case s.Meant != "":
		a.log.WarnContext(c.R.Context(), "unknown request field ignored", "path", c.Route.Path, "field", s.Name, "meant", s.Meant)
	default:
		a.log.DebugContext(c.R.Context(), "unknown request field ignored", "path", c.Route.Path, "field", s.Name)
	}
}

// logCaller notes what a client says about itself for the log.
func logCaller(c *Call, o *body.Object) {
	for _, name := range []string{"user", "metadata"} {
		if raw, ok := o.Sent(name); ok && string(raw) != "null" {
			c.W.Note(slog.String(name, shorten(raw)))
		}
	}
}

func shorten(raw []byte) string {
	const most = 512
	if len(raw) > most {
		raw = raw[:most]
	}
	return strings.ToValidUTF8(string(raw), "")
}
