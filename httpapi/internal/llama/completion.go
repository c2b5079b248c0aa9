package llama

import (
	"context"
	"time"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// completion answers POST /completion: texts that are continued.
func (a api) completion(c *server.Call, o *body.Object) error {
	r := a.read(c, o)
	if v, ok := o.Need("prompt"); ok {
		r.prompts = v.Texts(server.MaxPrompts)
	}
	for _, p := range r.prompts {
		r.texts = append(r.texts, p.Text)
	}
	return a.answer(c, o, r)
}

// infill answers POST /infill: a text that belongs between two others.
func (a api) infill(c *server.Call, o *body.Object) error {
	r := a.read(c, o)
	f := &engine.InfillRequest{Prompt: o.Str("prompt"), Files: []engine.File{}, Cut: true, Reply: max(r.sampling.MaxTokens, 0)}
	if r.none {
		f.Reply = 1
	}
	if v, ok := o.Need("input_prefix"); ok {
		f.Prefix = v.Str()
	}
	if v, ok := o.Need("input_suffix"); ok {
		f.Suffix = v.Str()
	}
	for v := range o.Items("input_extra") {
		file := v.Object()
		if file == nil {
			break
		}
		one := engine.File{Name: file.Str("filename")}
		if text, ok := file.Need("text"); ok {
			one.Text = text.Str()
		}
		f.Files = append(f.Files, one)
	}
	r.fill, r.prompts = f, []engine.EmbedInput{{}}
	return a.answer(c, o, r)
}

// answer has the model continue the prompts.
func (a api) answer(c *server.Call, o *body.Object, r *request) error {
	if err := a.Finish(c, o); err != nil {
		return err
	}
	info, err := a.Prepare(c, r.model, engine.KindCompletion, engine.KindChat)
	if err != nil {
		return err
	}
	ctx, cancel := turn.Time(a.API, c, r.stream)
	defer cancel()
	if err := ask.Constrain(ctx, c, r.sampling.Constraint); err != nil {
		return err
	}
	if err := r.spell(ctx, c.Lease); err != nil {
		return err
	}
	d := c.Lease.Defaults()
	if r.limit > 0 {
		c.Lease = timed{c.Lease, r.limit, time.Now}
	}
	s := newSettings(r, d)
	at := func(i int) engine.GenerateRequest { return r.request(i, d) }
	return turn.Answer(ctx, a.API, c, turn.Request{Prompts: len(r.prompts), Sequences: r.sampling.N, At: at}, turn.Dialect{
		Streamed: r.stream, Framing: stream.ServerEvents,
		Stream: func(out *stream.Writer, t *turn.Tally) turn.Spelling {
			return &spelling{out: out, t: t, r: r, model: info.ID, settings: s, states: map[int]*state{}, prompts: map[int]engine.Event{}}
		},
		Whole: func(replies []turn.Reply, t *turn.Tally) any {
			var out []any
			for i, reply := range replies {
				for j := range reply.Sequences {
					out = append(out, r.whole(i, j, &reply, t, info.ID, s))
				}
			}
			if len(out) == 1 {
				return out[0]
			}
			return out
		},
	})
}

// spell finds the prompt that fills in, and the texts of prompts that are tokens.
func (r *request) spell(ctx context.Context, l engine.Lease) error {
	if r.fill != nil {
		res, err := l.Infill(ctx, *r.fill)
		if err != nil {
			return fault.Classify(ctx, err)
		}
		r.prompts, r.texts, r.fill = []engine.EmbedInput{{Tokens: res.Tokens}}, []string{res.Text}, nil
		return nil
	}
	for i, p := range r.prompts {
		if p.Tokens == nil {
			continue
		}
		text, err := ask.Spelled(ctx, l, p.Tokens)
		if err != nil {
			return err
		}
		r.texts[i] = text
	}
	return nil
}

// request builds the engine's request of prompt i, which it moves out of r.
func (r *request) request(i int, d engine.Sampling) engine.GenerateRequest {
	q := engine.GenerateRequest{Prompt: engine.Prompt{Text: r.prompts[i].Text, Tokens: r.prompts[i].Tokens}, NoTokens: r.none}
	r.prompts[i] = engine.EmbedInput{}
	r.sampling.Apply(&q, d)
	q.Sample.Logprobs, q.Sample.Top = r.tokens || r.probs > 0, r.probs
	return q
}
