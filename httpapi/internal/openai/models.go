package openai

import (
	"slices"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

type modelObject struct {
	ID            string      `json:"id"`
	Object        string      `json:"object"`
	Created       int64       `json:"created"`
	OwnedBy       string      `json:"owned_by"`
	Type          engine.Kind `json:"type"`
	Capabilities  []string    `json:"capabilities"`
	Input         []string    `json:"input_modalities"`
	ContextLength int         `json:"context_length,omitempty"`
	MaxModelLen   int         `json:"max_model_len,omitempty"` // vLLM's name for the same
	Status        string      `json:"status"`
	Format        string      `json:"format,omitempty"`
	Quantization  string      `json:"quantization,omitempty"`
	Architecture  string      `json:"architecture,omitempty"`
	SizeBytes     int64       `json:"size_bytes,omitempty"`
	AliasOf       string      `json:"alias_of,omitempty"`
	Root          string      `json:"root,omitempty"`   // of an adapter its file,
	Parent        string      `json:"parent,omitempty"` // and the model it changes, as vLLM has them
	InUse         int         `json:"in_use,omitempty"` // requests that use it, or wait for it
}

func (a api) modelObject(m engine.ModelInfo) modelObject {
	created := m.Created
	if created.IsZero() {
		created = a.Started
	}
	input := "text"
	if m.Kind == engine.KindTranscription {
		input = "audio"
	}
	return modelObject{
		ID: m.ID, Object: "model", Created: created.Unix(), OwnedBy: "local",
		Type: m.Kind, Capabilities: list(m.Capabilities), Input: []string{input},
		ContextLength: m.ContextLength, MaxModelLen: m.ContextLength,
		Status: m.Status, Format: m.Format, Quantization: m.Quantization,
		Architecture: m.Architecture, SizeBytes: m.SizeBytes, AliasOf: m.AliasOf, InUse: m.Users + m.Waiting,
		Root: m.Adapter, Parent: m.Base,
	}
}

func (a api) listModels(c *server.Call) error {
	data := []modelObject{}
	for _, m := range a.Options.Engine.Models() {
		data = append(data, a.modelObject(m))
	}
	return a.WriteJSON(c, 200, struct {
		Object string        `json:"object"`
		Data   []modelObject `json:"data"`
	}{"list", data})
}

// modelMemory is the memory of a model.
type modelMemory struct {
	Bytes int64  `json:"bytes"` // held, or an estimate
	Limit int64  `json:"limit"` // of all models
	Fits  bool   `json:"fits"`  // alone
	Why   string `json:"why,omitempty"`
}

// getModel describes one model; its id may hold slashes. An alias is described
// under its own name.
func (a api) getModel(c *server.Call) error {
	found, m, err := a.model(pathID(c))
	if err != nil {
		return err
	}
	out := struct {
		modelObject
		Memory    *modelMemory `json:"memory,omitempty"` // absent where it is unknown before the model is here, or loaded
		Removable bool         `json:"removable"`
	}{modelObject: a.modelObject(m), Removable: m.AliasOf == "" && a.Manages(c) && a.Options.Store.Removable(m.ID)}
	needs, err := server.Promptly(a.API, c, found.Needs)
	switch {
	case c.R.Context().Err() != nil:
		return err
	case err == nil && needs.Bytes > 0:
		out.Memory = &modelMemory{Bytes: needs.Bytes, Limit: needs.Limit, Fits: needs.Why == nil}
		if needs.Why != nil {
			out.Memory.Why = needs.Why.Error()
		}
	}
	return a.WriteJSON(c, 200, out)
}

// pathID is the id of a model in a path.
func pathID(c *server.Call) string { return strings.TrimPrefix(c.Params.ByName("id"), "/") }

// model finds a model by any of its names, and its description: by the name asked for where
// that is listed.
func (a api) model(name string) (engine.Model, engine.ModelInfo, error) {
	all := a.Options.Engine.Models()
	m, err := a.Options.Engine.Find(name)
	if err != nil {
		return nil, engine.ModelInfo{}, err
	}
	if i := slices.IndexFunc(all, func(m engine.ModelInfo) bool { return m.ID == name }); i >= 0 {
		return m, all[i], nil
	}
	return m, m.Info(), nil
}

// removeModel answers DELETE /v1/models/ID.
func (a api) removeModel(c *server.Call) error {
	id := pathID(c)
	bytes, err := a.Options.Store.Remove(c.R.Context(), id)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
		Bytes   int64  `json:"freed_bytes"`
	}{id, "model", true, bytes})
}

// modelName reads the model a load or unload request names.
func (a api) modelName(c *server.Call, o *body.Object) (string, error) {
	model := ""
	if v, ok := o.Need("model"); ok {
		if model = v.Str(); model == "" {
			v.Invalid("must not be empty")
		}
	}
	return model, a.Finish(c, o)
}

// loadModel makes a model resident and answers when it is.
func (a api) loadModel(c *server.Call, o *body.Object) error {
	name, err := a.modelName(c, o)
	if err != nil {
		return err
	}
	info, err := a.Prepare(c, name)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		modelObject
		LoadMS float64 `json:"load_ms"`
	}{a.modelObject(info), millis(c.Loading.Round(time.Microsecond))})
}

// unloadModel releases a model's memory.
func (a api) unloadModel(c *server.Call, o *body.Object) error {
	name, err := a.modelName(c, o)
	if err != nil {
		return err
	}
	m, err := a.Options.Engine.Find(name)
	if err != nil {
		return err
	}
	if err := m.Unload(); err != nil {
		return err
	}
	return a.WriteJSON(c, 200, a.modelObject(m.Info()))
}
