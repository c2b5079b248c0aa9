package responses

import (
	"context"
	"log/slog"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// create answers POST /v1/responses.
func (a *api) create(c *server.Call, o *body.Object) error {
	r, err := a.read(c, o)
	if err != nil {
		return err
	}
	if r.object.Background {
		return a.background(c, r)
	}
	info, err := r.Open(a.API, c)
	if err != nil {
		return err
	}
	r.object.Model = info.ID
	ctx, cancel := turn.Time(a.API, c, r.Stream)
	defer cancel()
	if err := ask.Constrain(ctx, c, r.Sampling.Constraint); err != nil {
		return err
	}
	p := newReply(r)
	if r.object.Store {
		e := &entry{owner: r.owner, input: r.input}
		p.save = func(o object) bool {
			e.object = o
			err := a.store.add(context.WithoutCancel(ctx), e, false)
			if err != nil {
				c.W.Note(slog.Bool("stored", false))
			}
			return err == nil
		}
	}
	t := r.start(ctx, a, c.Lease, p, c.Warn)
	defer t.Close()
	defer func() { // also of a response that was cut short
		now := t.SoFar()
		c.LogTokens(now.PromptTokens, now.OutputTokens)
	}()
	if r.Stream {
		s := a.NewStream(c, stream.ServerEvents)
		p.tell, p.last = s.Named, func() error { return s.Bytes(done) }
		s.Fail = func(_ *stream.Writer, e *fault.Error) error { return p.fail(e) }
		return a.EndStream(c, s, t.Stream(ctx, s, a.Options.Stall, p))
	}
	if err := t.Each(ctx, 0, p.Event); err != nil {
		return err
	}
	if err := p.End(); err != nil {
		return err
	}
	return a.WriteJSON(c, 200, p.object)
}

// done ends streams, as in Open Responses; OpenAI's clients ignore it.
var done = []byte("data: [DONE]\n\n")

// start has a model answer the request. warn may be nil.
func (r *request) start(ctx context.Context, a *api, l engine.Lease, p *reply, warn func(string)) *turn.Turn {
	q := r.Request(l.Defaults(), a.Options.DefaultMaxTokens)
	p.object.drawn(&q)
	t := turn.Start(ctx, a.Metrics, l, turn.Request{Prompts: 1, Sequences: 1, At: func(int) engine.GenerateRequest { return q }, Warn: warn})
	p.tally = &t.Tally
	return t
}

// countInput answers POST /v1/responses/input_tokens.
func (a *api) countInput(c *server.Call, o *body.Object) error {
	r, err := a.read(c, o)
	if err != nil {
		return err
	}
	if _, err := r.Open(a.API, c); err != nil {
		return err
	}
	res, err := server.InTime(a.API, c, c.Lease.Tokenize, engine.TokenizeRequest{Prompt: r.Prompt})
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, struct {
		Object string `json:"object"`
		Tokens int    `json:"input_tokens"`
	}{"response.input_tokens", len(res.Tokens)})
}
