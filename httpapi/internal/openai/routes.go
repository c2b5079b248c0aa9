// Package openai answers in the dialect of OpenAI, and of servers that speak it.
package openai

import "quern/httpapi/internal/server"

type api struct{ *server.API }

// Routes returns the endpoints of the dialect, but for the list of models.
func Routes(s *server.API) []server.Route {
	a := api{s}
	return []server.Route{
		{Method: "POST", Path: "/v1/files", Handle: a.kept(a.createFile), Bare: true},
		{Method: "GET", Path: "/v1/files", Handle: a.kept(a.listFiles), Bare: true},
		{Method: "GET", Path: "/v1/files/:id", Handle: a.kept(a.getFile), Bare: true},
		{Method: "DELETE", Path: "/v1/files/:id", Handle: a.kept(a.removeFile), Bare: true},
		{Method: "GET", Path: "/v1/files/:id/content", Handle: a.kept(a.fileContent), Bare: true},
		{Method: "POST", Path: "/v1/batches", Handle: a.kept(a.createBatch), Bare: true},
		{Method: "GET", Path: "/v1/batches", Handle: a.kept(a.listBatches), Bare: true},
		{Method: "GET", Path: "/v1/batches/:id", Handle: a.kept(a.getBatch), Bare: true},
		{Method: "POST", Path: "/v1/batches/:id/cancel", Handle: a.kept(a.cancelBatch), Bare: true},
		{Method: "POST", Path: "/v1/chat/completions", Handle: a.Object(a.chatCompletions), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/chat/completions/render", Handle: a.Object(a.render), Work: true, Operation: server.Tokenizing, Bare: true},
		{Method: "POST", Path: "/apply-template", Handle: a.Object(a.applyTemplate), Work: true, Operation: server.Tokenizing},
		{Method: "POST", Path: "/v1/completions", Handle: a.Object(a.completions), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/embeddings", Handle: a.Object(a.embeddings), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/audio/transcriptions", Handle: a.transcriptions, Work: true, Bare: true},
		{Method: "POST", Path: "/v1/audio/translations", Handle: a.translations, Work: true, Bare: true},
		{Method: "POST", Path: "/v1/audio/speech", Handle: a.Object(a.speech), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/audio/phonemize", Handle: a.Object(a.phonemize), Work: true, Bare: true},
		{Method: "GET", Path: "/v1/audio/voices", Handle: a.voices, Bare: true},
		{Method: "POST", Path: "/v1/audio/voices", Handle: server.NotBuilt("voices cannot be uploaded; put voice packs into the model's voices folder"), Bare: true},
		{Method: "POST", Path: "/v1/tokenize", Handle: a.Object(a.tokenize), Work: true, Operation: server.Tokenizing, Bare: true},
		{Method: "POST", Path: "/v1/detokenize", Handle: a.Object(a.detokenize), Work: true, Operation: server.Tokenizing, Bare: true},
		{Method: "POST", Path: "/v1/models/load", Handle: a.Object(a.loadModel), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/models/unload", Handle: a.Object(a.unloadModel), Bare: true},
		{Method: "POST", Path: "/v1/models/*id/cache/warm", Handle: a.Object(a.warm), Work: true, Bare: true},
		{Method: "DELETE", Path: "/v1/models/*id", Handle: a.Managing(a.removeModel), Bare: true},
		{Method: "POST", Path: "/v1/models/pull", Handle: a.Managing(a.Object(a.pullModel)), Bare: true},
		{Method: "GET", Path: "/v1/pulls", Handle: a.Managing(a.listPulls), Bare: true},
		{Method: "DELETE", Path: "/v1/pulls/*id", Handle: a.Managing(a.stopPull), Bare: true},
	}
}

// ListModels answers GET /v1/models.
func ListModels(s *server.API, c *server.Call) error { return api{s}.listModels(c) }

// GetModel answers GET /v1/models/ID.
func GetModel(s *server.API, c *server.Call) error { return api{s}.getModel(c) }
