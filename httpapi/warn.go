package httpapi

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

const (
	maxWarnings     = 8    // of one answer
	maxUnknownNames = 1000 // unknown fields remembered so that each is logged once
)

// A request is what a body says: an object or a form.
type request interface {
	strays() []stray // fields nobody asked for
	err() error
}

// finish is called when a body was read: it tells of fields nobody asked for, and
// returns the first error found in it.
func (a *API) finish(c *call, b request) error {
	warned := 0
	for _, s := range b.strays() {
		a.logStray(c, s)
		if s.meant == "" || warned == maxWarnings {
			continue
		}
		warned++
		c.w.Header().Add(WarningHeader, fmt.Sprintf("unknown field %s is ignored; did you mean %s?", strconv.QuoteToASCII(s.name), strconv.QuoteToASCII(s.meant)))
	}
	return b.err()
}

// logStray notes a field nobody reads, once per endpoint and name.
func (a *API) logStray(c *call, s stray) {
	name := c.route.Path + " " + s.name
	a.unknownMu.Lock()
	news := !a.unknown[name] && len(a.unknown) < maxUnknownNames
	if news {
		a.unknown[name] = true
	}
	a.unknownMu.Unlock()
	switch {
	case !news:
	case s.meant != "":
		a.log.WarnContext(c.r.Context(), "unknown request field ignored", "path", c.route.Path, "field", s.name, "meant", s.meant)
	default:
		a.log.DebugContext(c.r.Context(), "unknown request field ignored", "path", c.route.Path, "field", s.name)
	}
}

// logCaller notes what a client says about itself for the log.
func logCaller(c *call, o *object) {
	for _, name := range []string{"user", "metadata"} {
		if raw, ok := o.sent(name); ok && string(raw) != "null" {
			c.w.note(slog.String(name, shorten(raw)))
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
