package llama

import (
	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A vector is one of an answer. The dialect has as many of a text as the model makes, which
// is one where they are pooled.
type vector struct {
	Index     int          `json:"index"`
	Embedding [1][]float32 `json:"embedding"`
}

// embedding answers POST /embedding: texts, or their tokens, become vectors.
func (a api) embedding(c *server.Call, o *body.Object) error {
	model := o.Str("model")
	name := "content"
	if !o.Has(name) && o.Has("input") {
		name = "input"
	}
	r := engine.EmbedRequest{Param: name, Raw: ask.RawVectors(o), KeepAlive: body.KeepAlive(o)}
	if v, ok := o.Need(name); ok {
		r.Inputs = v.Texts(server.MaxEmbedInputs)
	}
	if err := a.Finish(c, o); err != nil {
		return err
	}
	if _, err := a.Prepare(c, model, engine.KindEmbedding); err != nil {
		return err
	}
	res, err := server.InTime(a.API, c, c.Lease.Embed, r)
	if err != nil {
		return err
	}
	c.LogTokens(res.PromptTokens, 0)
	out := make([]vector, len(res.Vectors))
	for i, v := range res.Vectors {
		out[i] = vector{i, [1][]float32{v}}
	}
	return a.WriteJSON(c, 200, out)
}
