package httpapi

import (
	"strings"
	"time"

	"quern/engine"
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

func (a openaiAPI) modelObject(m engine.ModelInfo) modelObject {
	created := m.Created
	if created.IsZero() {
		created = a.started
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

func (a openaiAPI) listModels(c *call) error {
	data := []modelObject{}
	for _, m := range a.o.Engine.Models() {
		data = append(data, a.modelObject(m))
	}
	return a.writeJSON(c, 200, struct {
		Object string        `json:"object"`
		Data   []modelObject `json:"data"`
	}{"list", data})
}

// getModel describes one model; its id may hold slashes. An alias is described
// under its own name.
func (a openaiAPI) getModel(c *call) error {
	id := strings.TrimPrefix(c.params.ByName("id"), "/")
	for _, m := range a.o.Engine.Models() {
		if m.ID == id {
			return a.writeJSON(c, 200, a.modelObject(m))
		}
	}
	m, err := a.o.Engine.Find(id)
	if err != nil {
		return err
	}
	return a.writeJSON(c, 200, a.modelObject(m))
}

// modelName reads the model a load or unload request names.
func (a openaiAPI) modelName(c *call) (string, error) {
	o, err := a.readObject(c)
	if err != nil {
		return "", err
	}
	model := ""
	if v, ok := o.need("model"); ok {
		if model = v.str(); model == "" {
			v.invalid("must not be empty")
		}
	}
	return model, a.finish(c, o)
}

// loadModel makes a model resident and answers when it is.
func (a openaiAPI) loadModel(c *call) error {
	name, err := a.modelName(c)
	if err != nil {
		return err
	}
	info, err := a.prepare(c, name)
	if err != nil {
		return err
	}
	return a.writeJSON(c, 200, struct {
		modelObject
		LoadMS float64 `json:"load_ms"`
	}{a.modelObject(info), millis(c.loading.Round(time.Microsecond))})
}

// unloadModel releases a model's memory.
func (a openaiAPI) unloadModel(c *call) error {
	name, err := a.modelName(c)
	if err != nil {
		return err
	}
	info, err := a.o.Engine.Find(name)
	if err != nil {
		return err
	}
	if err := a.o.Engine.Unload(info.ID); err != nil {
		return err
	}
	if again, err := a.o.Engine.Find(info.ID); err == nil {
		info = again
	}
	return a.writeJSON(c, 200, a.modelObject(info))
}
