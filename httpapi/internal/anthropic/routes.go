// Package anthropic answers in the dialect of Anthropic's Messages.
package anthropic

import "quern/httpapi/internal/server"

// IDHeader is the dialect's header of a request's id.
const IDHeader = "request-id"

type api struct{ *server.API }

// Routes returns the endpoints of the dialect, but for the list of models.
func Routes(s *server.API) []server.Route {
	a := api{s}
	return []server.Route{
		{Method: "POST", Path: "/v1/messages", Handle: a.Object(a.messages), Work: true},
		{Method: "POST", Path: "/v1/messages/count_tokens", Handle: a.Object(a.countTokens), Work: true, Operation: server.Tokenizing},
		{Method: "POST", Path: "/v1/messages/batches", Handle: server.NotBuilt("there are no message batches; send the messages one by one")},
	}
}
