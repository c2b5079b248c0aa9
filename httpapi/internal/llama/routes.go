// Package llama answers in the dialect of llama-server, llama.cpp's own: the endpoints that editors'
// plugins and other programs use before, and beside, OpenAI's.
//
// llama.cpp, tools/server, README.md.
package llama

import "quern/httpapi/internal/server"

type api struct{ *server.API }

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := api{s}
	return []server.Route{
		{Method: "GET", Path: "/props", Handle: a.props},
		{Method: "POST", Path: "/props", Handle: server.NotBuilt("the properties of a server are not changed over the API; set them in the configuration")},
		{Method: "GET", Path: "/slots", Handle: a.slots},
		{Method: "POST", Path: "/slots/:id", Handle: server.NotBuilt("slots are neither saved, restored nor erased: what prompts have in common is kept by itself")},
		{Method: "GET", Path: "/lora-adapters", Handle: a.adapters},
		{Method: "POST", Path: "/lora-adapters", Handle: server.NotBuilt("adapters are not set for all requests: a request that is to be answered with one calls the model NAME:ADAPTER")},
		{Method: "POST", Path: "/completion", Handle: a.Object(a.completion), Work: true},
		{Method: "POST", Path: "/embedding", Handle: a.Object(a.embedding), Work: true},
		{Method: "POST", Path: "/infill", Handle: a.Object(a.infill), Work: true},
	}
}
