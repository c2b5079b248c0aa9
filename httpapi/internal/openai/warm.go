package openai

import (
	"context"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// warm answers POST /v1/models/ID/cache/warm: it has the model read a prompt, as a request of
// /v1/chat/completions or /v1/completions has it, so that requests with the same beginning find it
// in the cache. A key that may generate one token may do that.
func (a api) warm(c *server.Call, o *body.Object) error {
	model := pathID(c)
	if name := o.Str("model"); name != "" && name != model {
		o.Refuse(engine.CodeInvalidValue, "model", "model is %.200q and the path names %.200q; leave model out", name, model)
	}
	prompts, kind, err := a.readWarm(c, o)
	if err != nil {
		return err
	}
	info, err := a.Prepare(c, model, kind...)
	if err != nil {
		return err
	}
	out := struct {
		Object string `json:"object"`
		Model  string `json:"model"`
		Tokens int    `json:"tokens"`
		Cached int    `json:"cached_tokens"` // of these, those that were there already
		Disk   bool   `json:"disk"`          // they are written to a disk as well
	}{Object: "cache.warm", Model: info.ID, Disk: a.Options.Engine.Stats().Disk != nil}
	for _, p := range prompts {
		type counts struct{ tokens, cached int }
		n, err := server.InTime(a.API, c, func(ctx context.Context, p engine.Prompt) (n counts, err error) {
			for ev, err := range c.Lease.Generate(ctx, engine.GenerateRequest{Prompt: p, NoTokens: true}) {
				switch {
				case err != nil:
					return n, err
				case ev.Type == engine.Admitted:
					n.tokens = ev.PromptTokens
				case ev.Type == engine.PromptDone:
					n.cached = ev.CachedTokens
				}
			}
			return n, ctx.Err()
		}, p)
		if err != nil {
			return err
		}
		out.Tokens += n.tokens
		out.Cached += n.cached
	}
	c.LogTokens(out.Tokens, 0)
	return a.WriteJSON(c, 200, out)
}

// readWarm reads the prompts, with all other fields that such a request may have.
func (a api) readWarm(c *server.Call, o *body.Object) (prompts []engine.Prompt, kinds []engine.Kind, err error) {
	if o.Has("messages") || !o.Has("prompt") {
		r, err := a.readChat(c, o)
		if err != nil {
			return nil, nil, err
		}
		return []engine.Prompt{r.Prompt}, []engine.Kind{engine.KindChat}, nil
	}
	r, err := a.readText(c, o)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range r.prompts {
		prompts = append(prompts, engine.Prompt{Text: p.Text, Tokens: p.Tokens})
	}
	if len(prompts) == 0 {
		return nil, nil, fault.New(engine.CodeInvalidValue, "prompt", "prompt is empty")
	}
	return prompts, []engine.Kind{engine.KindCompletion, engine.KindChat}, nil
}
