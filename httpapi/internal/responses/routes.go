// Package responses answers in the dialect of OpenAI's Responses API: a reply is a list of
// items, each of which has events as it grows, and the server keeps the conversation, so that
// the next request need not send it again.
package responses

import (
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

type api struct {
	*server.API
	store keeper // nil when nothing is kept
}

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := &api{API: s}
	switch o := s.Options.Responses; {
	case o.Off:
	case o.Archive != nil:
		a.store = newArchive(s, o)
	default:
		a.store = newStore(o)
	}
	return []server.Route{
		{Method: "POST", Path: "/v1/responses", Handle: s.Object(a.create), Work: true, Bare: true},
		// The router takes no name beside a parameter.
		{Method: "POST", Path: "/v1/responses/:id", Handle: a.named, Work: true, Operation: server.Tokenizing, Bare: true},
		{Method: "GET", Path: "/v1/responses/:id", Handle: a.retrieve, Bare: true},
		{Method: "DELETE", Path: "/v1/responses/:id", Handle: a.remove, Bare: true},
		{Method: "GET", Path: "/v1/responses/:id/input_items", Handle: a.inputItems, Bare: true},
		{Method: "POST", Path: "/v1/responses/:id/cancel", Handle: a.cancel, Bare: true},
	}
}

// named answers the endpoints whose names stand where ids do.
func (a *api) named(c *server.Call) error {
	switch c.Params.ByName("id") {
	case "input_tokens":
		return a.Object(a.countInput)(c)
	case "compact":
		return fault.New(fault.CodeNotImplemented, "", "conversations are not compacted; set truncation to auto, which leaves the oldest turns out")
	}
	return fault.New(fault.CodeUnknownURL, "", "there is no endpoint at %s %.200s; check the base URL and the path", c.R.Method, c.R.URL.Path)
}
