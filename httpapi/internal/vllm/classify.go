package vllm

import (
	"math"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A class is the likeliest label of a text.
type class struct {
	Index int       `json:"index"`
	Label string    `json:"label"`
	Probs []float32 `json:"probs"` // of all labels, in their order
	N     int       `json:"num_classes"`
}

// classify answers POST /v1/classify.
func (a api) classify(c *server.Call, o *body.Object) error {
	model := o.Str("model")
	r := engine.ClassifyRequest{Truncate: readTruncate(o), Logits: !readActivation(o), KeepAlive: body.KeepAlive(o)}
	if o.Has("messages") {
		o.Refuse(engine.CodeUnsupportedParam, "messages", "messages are not classified; send texts as input")
	}
	if v, ok := o.Need("input"); ok {
		r.Inputs = v.Texts(server.MaxEmbedInputs)
	}
	if !o.Boolean("add_special_tokens", true) {
		o.Refuse(engine.CodeUnsupportedParam, "add_special_tokens", "add_special_tokens: false is not supported; send tokens")
	}
	o.Ignore("user", "priority", "request_id")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	info, err := a.Prepare(c, model, engine.KindClassification)
	if err != nil {
		return err
	}
	res, err := server.InTime(a.API, c, c.Lease.Classify, r)
	if err != nil {
		return err
	}
	c.LogTokens(res.PromptTokens, 0)
	data := []class{}
	for i, probs := range res.Probabilities {
		best, most := 0, float32(math.Inf(-1))
		for k, p := range probs {
			if p > most {
				best, most = k, p
			}
		}
		data = append(data, class{i, res.Labels[best], probs, len(probs)})
	}
	return a.WriteJSON(c, 200, newList("classify-", info.ID, data, res.PromptTokens))
}
