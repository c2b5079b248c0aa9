package ollama

import (
	"context"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// generate answers POST /api/generate: a prompt as a user's message, or, raw and to models
// without a chat template, as text that goes on; before a suffix as text that leads to it. Without a prompt it only loads the model,
// or unloads it.
func (a api) generate(c *server.Call, o *body.Object) error {
	r := &ask.Chat{Model: readName(o)}
	var more common
	prompt, system := o.Str("prompt"), o.Str("system")
	raw := o.Boolean("raw", false)
	template := o.Str("template")
	suffix := o.Str("suffix")
	ask.RefuseOthers(o, []ask.Other{{Name: "images", Off: ask.Empty}, {Name: "context", Off: ask.Empty}})
	a.readCommon(o, r, &more)
	if raw && (system != "" || template != "") {
		o.Refuse(engine.CodeInvalidValue, "raw", "raw gives the model the prompt as it is; leave system and template out")
	}
	if suffix != "" && system != "" {
		o.Refuse(engine.CodeInvalidValue, "system", "system has no place before a suffix; leave it out")
	}
	if template != "" {
		o.Refuse(engine.CodeUnsupportedParam, "template", "template is not supported: a model's template is its file's, or chat_template of the configuration; send raw prompts instead")
	}
	if err := a.Finish(c, o); err != nil {
		return err
	}
	chunk := func(text, thinking string, _ []call) any {
		return textChunk{Response: text, Thinking: thinking}
	}
	kinds := []engine.Kind{engine.KindChat, engine.KindCompletion}
	if prompt == "" && system == "" && suffix == "" {
		return a.load(c, r, chunk("", "", nil), kinds...)
	}
	shape := func(ctx context.Context, info engine.ModelInfo) error {
		if suffix != "" {
			res, err := c.Lease.Infill(ctx, engine.InfillRequest{Prefix: prompt, Suffix: suffix, Param: "suffix"})
			r.Prompt = engine.Prompt{Tokens: res.Tokens}
			return err
		}
		if raw || info.Kind != engine.KindChat {
			r.Prompt = engine.Prompt{Text: prompt}
			if system != "" {
				r.Prompt.Text = system + "\n\n" + prompt
			}
			return nil
		}
		if system != "" {
			r.Prompt.Messages = append(r.Prompt.Messages, chat.Message{Role: chat.RoleSystem, Text: system})
		}
		r.Prompt.Messages = append(r.Prompt.Messages, chat.Message{Role: chat.RoleUser, Text: prompt})
		return nil
	}
	return a.answer(c, r, more, spelled{chunk: chunk, kinds: kinds, shape: shape})
}

type textChunk struct {
	head
	Response string `json:"response"`
	Thinking string `json:"thinking,omitempty"`
	ended
}

func (k textChunk) with(h head, e ended) any {
	k.head, k.ended = h, e
	return k
}
