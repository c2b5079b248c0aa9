package httpapi

import (
	"quern/engine"
	"quern/engine/token"
)

// textKinds are the models that have a tokenizer for text.
var textKinds = []engine.Kind{engine.KindChat, engine.KindCompletion, engine.KindEmbedding, engine.KindRerank}

func (a *API) tokenize(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	model := o.str("model")
	r := engine.TokenizeRequest{AddSpecial: o.boolean("add_special_tokens", true)}
	r.Pieces = o.boolean("return_token_strs", false)
	switch {
	case o.has("messages"):
		r.Prompt.Messages = readMessages(o)
		r.Prompt.Kwargs = readKwargs(o)
		r.Prompt.Continue = readContinue(o, r.Prompt.Messages)
	case o.has("prompt"):
		r.Prompt.Text = o.str("prompt")
	case o.has("content"):
		r.Prompt.Text = o.str("content")
	default:
		o.need("prompt")
	}
	if err := a.finish(c, o); err != nil {
		return err
	}
	kinds := textKinds
	if r.Prompt.Messages != nil {
		kinds = []engine.Kind{engine.KindChat}
	}
	if _, err := a.prepare(c, model, kinds...); err != nil {
		return err
	}
	res, err := inTime(a, c, c.lease.Tokenize, r)
	if err != nil {
		return err
	}
	out := struct {
		Tokens  any      `json:"tokens"`
		Count   int      `json:"count"`
		Context int      `json:"max_model_len"`
		Strings []string `json:"token_strs,omitempty"`
	}{Tokens: list(res.Tokens), Count: len(res.Tokens), Context: res.Context}
	if r.Pieces {
		for _, p := range res.Pieces {
			out.Strings = append(out.Strings, tokenText(p))
		}
	}
	return a.writeJSON(c, 200, out)
}

func (a *API) detokenize(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	model := o.str("model")
	var ids []token.ID
	if v, ok := o.need("tokens"); ok {
		ids = v.tokens()
	}
	if err := a.finish(c, o); err != nil {
		return err
	}
	if _, err := a.prepare(c, model, textKinds...); err != nil {
		return err
	}
	ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
	defer cancel()
	text, err := c.lease.Detokenize(ctx, ids)
	if err != nil {
		return classify(ctx, err)
	}
	return a.writeJSON(c, 200, struct {
		Prompt  string `json:"prompt"`  // vLLM's name
		Content string `json:"content"` // llama-server's
	}{text, text})
}
