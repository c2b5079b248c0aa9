// Package anthropic answers in the dialect of Anthropic's Messages.
package anthropic

import "quern/httpapi/internal/server"

type api struct{ *server.API }

// Routes returns the endpoints of the dialect, but for the list of models.
func Routes(s *server.API) []server.Route {
	a := api{s}
	return []server.Route{
		{Method: "POST", Path: "/v1/messages", Handle: named(a.Object(a.messages)), Work: true},
		{Method: "POST", Path: "/v1/messages/count_tokens", Handle: named(a.Object(a.countTokens)), Work: true},
		{Method: "POST", Path: "/v1/messages/batches", Handle: server.NotBuilt("there are no message batches; send the messages one by one")},
	}
}

// named answers with the id of the request where the dialect's clients look for it.
func named(handle func(*server.Call) error) func(*server.Call) error {
	return func(c *server.Call) error {
		h := c.W.Header()
		h.Set("request-id", h.Get("x-request-id"))
		return handle(c)
	}
}
