package httpapi

import (
	"net/http"
	"slices"

	"quern/httpapi/internal/anthropic"
	"quern/httpapi/internal/cohere"
	"quern/httpapi/internal/eleven"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/llama"
	"quern/httpapi/internal/ollama"
	"quern/httpapi/internal/openai"
	"quern/httpapi/internal/responses"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/vllm"
)

// dialects are all dialects. To add one, write its package and a line here.
func dialects(a *server.API) []server.Dialect {
	models, model := by(a, listModels), by(a, getModel)
	return []server.Dialect{
		{Routes: own(a)},
		{Routes: pages(a)},
		{Routes: append(openai.Routes(a),
			server.Route{Method: "GET", Path: "/v1/models", Handle: models, Fail: failModels, Bare: true},
			server.Route{Method: "GET", Path: "/v1/models/*id", Handle: model, Fail: failModels, Bare: true})},
		{Routes: responses.Routes(a)},
		{Routes: realtimeRoutes(a)},
		{Routes: cohere.Routes(a)},
		{Routes: llama.Routes(a)},
		{Routes: vllm.Routes(a)},
		{Routes: anthropic.Routes(a), Fail: anthropic.Fail, IDHeader: anthropic.IDHeader},
		{Routes: ollama.Routes(a), Fail: ollama.Fail, Below: "/api"},
		{Routes: slices.Concat(eleven.Routes(a), scribeRoutes(a), []server.Route{{Method: "GET", Path: "/v1/models", Handle: models, Prefixed: true}}),
			Fail: eleven.Fail, Prefix: eleven.Prefix},
	}
}

// listModels answers GET /v1/models: one path, three clients, and no document that
// satisfies all.
func listModels(a *server.API, c *server.Call) error {
	c.W.Header().Add("Vary", "xi-api-key, User-Agent, anthropic-version")
	if anthropic.IsClient(c.R) {
		return anthropic.ListModels(a, c)
	}
	if c.Route.Prefixed || eleven.IsClient(c.R) {
		return eleven.ListModels(a, c)
	}
	return openai.ListModels(a, c)
}

// getModel answers GET /v1/models/ID as listModels does the list.
func getModel(a *server.API, c *server.Call) error {
	if anthropic.IsClient(c.R) {
		return anthropic.GetModel(a, c)
	}
	return openai.GetModel(a, c)
}

// failModels writes failures of both.
func failModels(e *fault.Error, r *http.Request) (status int, body any) {
	if anthropic.IsClient(r) {
		return anthropic.Fail(e, r)
	}
	return e.Status, e.Body()
}

// own are the endpoints for the operator of the server.
func own(a *server.API) []server.Route {
	return []server.Route{
		{Method: "GET", Path: "/v1/server", Handle: by(a, serveSettings)},
		{Method: "GET", Path: "/metrics", Handle: by(a, serveMetrics), Open: a.Options.MetricsPublic},
		{Method: "GET", Path: "/health", Handle: by(a, serveHealth), Open: true},
		{Method: "GET", Path: "/v1/health", Handle: by(a, serveHealth), Open: true},
		{Method: "GET", Path: "/livez", Handle: by(a, serveHealth), Open: true},
		{Method: "GET", Path: "/readyz", Handle: by(a, serveReady), Open: true},
	}
}

func by(a *server.API, serve func(*server.API, *server.Call) error) func(*server.Call) error {
	return func(c *server.Call) error { return serve(a, c) }
}
