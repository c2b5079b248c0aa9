package ollama

import (
	"math"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// vectors embeds inputs with the model of a request. Without any it is only loaded, or unloaded.
func (a api) vectors(c *server.Call, model string, r engine.EmbedRequest) (engine.EmbedResult, error) {
	if len(r.Inputs) == 0 {
		_, err := a.ready(c, model, r.KeepAlive, engine.KindEmbedding)
		return engine.EmbedResult{Vectors: [][]float32{}}, err
	}
	if _, err := a.open(c, model, engine.KindEmbedding); err != nil {
		return engine.EmbedResult{}, err
	}
	res, err := server.InTime(a.API, c, c.Lease.Embed, r)
	if err == nil {
		c.LogTokens(res.PromptTokens, 0)
	}
	return res, err
}

// embed answers POST /api/embed. Without a text it only loads the model, or unloads it.
func (a api) embed(c *server.Call, o *body.Object) error {
	begin := time.Now()
	model := readName(o)
	r := engine.EmbedRequest{
		Truncate: o.Boolean("truncate", true), Dimensions: int(o.Integer("dimensions", 0, 1, math.MaxInt32)), KeepAlive: body.KeepAlive(o),
	}
	if v, ok := o.Get("input"); ok && string(v.Raw) != `""` && string(v.Raw) != "[]" {
		r.Inputs = v.Texts(server.MaxEmbedInputs)
	}
	o.Ignore("options")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	res, err := a.vectors(c, model, r)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		Model      string        `json:"model"`
		Embeddings [][]float32   `json:"embeddings"`
		Total      time.Duration `json:"total_duration"`
		Load       time.Duration `json:"load_duration"`
		Prompt     int           `json:"prompt_eval_count"`
	}{model, res.Vectors, time.Since(begin), c.Loading, res.PromptTokens})
}

// embedding answers POST /api/embeddings, the older form: one prompt, one vector that
// is as long as the model made it. Without a prompt it only loads the model, or unloads it.
func (a api) embedding(c *server.Call, o *body.Object) error {
	model := readName(o)
	r := engine.EmbedRequest{Param: "prompt", Truncate: true, Raw: true, KeepAlive: body.KeepAlive(o)}
	if text := o.Str("prompt"); text != "" {
		r.Inputs = []engine.EmbedInput{{Text: text}}
	}
	o.Ignore("options")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	res, err := a.vectors(c, model, r)
	if err != nil {
		return err
	}
	out := struct {
		Embedding []float32 `json:"embedding"`
	}{[]float32{}}
	if len(res.Vectors) > 0 {
		out.Embedding = res.Vectors[0]
	}
	return a.WriteJSON(c, 200, out)
}
