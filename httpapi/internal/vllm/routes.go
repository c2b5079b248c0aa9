// Package vllm answers in the dialect of vLLM, where that has endpoints of its own: scores of
// pairs of texts, and classes of texts.
//
// vLLM, docs/models/pooling_models.md, and vllm/entrypoints/pooling.
package vllm

import (
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

type api struct{ *server.API }

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := api{s}
	return []server.Route{
		{Method: "POST", Path: "/v1/score", Handle: a.Object(a.score), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/classify", Handle: a.Object(a.classify), Work: true, Bare: true},
	}
}

// A list is the answer of both endpoints.
type list struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Data    any    `json:"data"`
	Usage   usage  `json:"usage"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
}

func newList(prefix, model string, data any, tokens int) list {
	return list{reqlog.NewID(prefix), "list", time.Now().Unix(), model, data, usage{Prompt: tokens, Total: tokens}}
}

// readTruncate reads whether texts that are too long are cut.
func readTruncate(o *body.Object) bool {
	v, ok := o.Get("truncate_prompt_tokens")
	if ok && string(v.Raw) != "-1" {
		v.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s may only be -1, which cuts texts to what the model reads", v.Path())
	}
	return ok
}

// readActivation reads whether the model's numbers become probabilities, by its name
// or its older names.
func readActivation(o *body.Object) bool {
	for _, name := range []string{"use_activation", "activation", "softmax"} {
		if !o.Boolean(name, true) {
			return false
		}
	}
	return true
}
