// Package ollama answers in the dialect of Ollama's own API.
package ollama

import (
	"net/http"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
)

type api struct{ *server.API }

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := api{s}
	own := server.NotBuilt("models are not made or copied over the API; put files into the models folder, and set options in the configuration")
	return []server.Route{
		{Method: "POST", Path: "/api/chat", Handle: a.Object(a.chat), Work: true},
		{Method: "POST", Path: "/api/generate", Handle: a.Object(a.generate), Work: true},
		{Method: "POST", Path: "/api/embed", Handle: a.Object(a.embed), Work: true},
		{Method: "POST", Path: "/api/embeddings", Handle: a.Object(a.embedding), Work: true},
		{Method: "GET", Path: "/api/tags", Handle: a.tags},
		{Method: "GET", Path: "/api/ps", Handle: a.running},
		{Method: "POST", Path: "/api/show", Handle: a.Object(a.show)},
		{Method: "GET", Path: "/api/version", Handle: a.version},
		{Method: "POST", Path: "/api/pull", Handle: a.Managing(a.Object(a.pull))},
		{Method: "DELETE", Path: "/api/delete", Handle: a.Managing(a.Object(a.remove))},
		{Method: "POST", Path: "/api/create", Handle: own},
		{Method: "POST", Path: "/api/copy", Handle: own},
		{Method: "POST", Path: "/api/push", Handle: own},
		{Method: "HEAD", Path: "/api/blobs/:digest", Handle: own},
		{Method: "POST", Path: "/api/blobs/:digest", Handle: own},
	}
}

// lines is the framing of the dialect's streams.
var lines = stream.Framing{
	Mime: stream.JSONLines.Mime, Idle: stream.JSONLines.Idle,
	Fail: func(s *stream.Writer, e *fault.Error) error { return s.Event(failure{e.Message}) },
}

type failure struct {
	Error string `json:"error"`
}

// Fail is a failure in the dialect's form.
func Fail(e *fault.Error, _ *http.Request) (status int, body any) {
	return e.Status, failure{e.Message}
}
