package openai

import (
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
		Architecture: m.Architecture, SizeBytes: m.SizeBytes, AliasOf: m.AliasOf,
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

// getModel describes one model; its id may hold slashes. An alias is described
// under its own name.
func (a api) getModel(c *server.Call) error {
	id := strings.TrimPrefix(c.Params.ByName("id"), "/")
	for _, m := range a.Options.Engine.Models() {
		if m.ID == id {
			return a.WriteJSON(c, 200, a.modelObject(m))
		}
	}
	m, err := a.Options.Engine.Find(id)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, a.modelObject(m))
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
	info, err := a.Options.Engine.Find(name)
	if err != nil {
		return err
	}
	if err := a.Options.Engine.Unload(info.ID); err != nil {
		return err
	}
	if again, err := a.Options.Engine.Find(info.ID); err == nil {
		info = again
	}
	return a.WriteJSON(c, 200, a.modelObject(info))
}
