// Package ask has the request for text that all dialects share: the
// conversation, the sampling, the form of the reply and the tools it may call. A
// dialect reads its own fields into a Chat; this package checks what all of them check.
package ask

import (
	"cmp"
	"context"

	"quern/engine"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/turn"
)

// A Chat is a request for an answer to messages, read.
type Chat struct {
	Model    string
	Prompt   engine.Prompt
	Calls    engine.ToolChoice
	Budget   *engine.ReasoningBudget
	Sampling Sampling
	Stream   bool

	Logprobs bool
	Top      int // alternatives of each token, with Logprobs
}

// Open makes the model of the request resident for the rest of the call.
func (r *Chat) Open(a *server.API, c *server.Call) (engine.ModelInfo, error) {
	return a.Prepare(c, r.Model, engine.KindChat)
}

// Request builds the engine's request. It moves the prompt out of the Chat. d are the model's own values,
// and most are the tokens of a reply where neither it nor the client sets a limit.
func (r *Chat) Request(d engine.Sampling, most int) engine.GenerateRequest {
	q := engine.GenerateRequest{Prompt: r.Prompt, ToolChoice: r.Calls, ReasoningBudget: r.Budget}
	r.Sampling.Apply(&q, d)
	if r.Sampling.MaxTokens == 0 {
		q.MaxTokens = cmp.Or(d.MaxTokens, most)
	}
	q.Sample.Logprobs = r.Logprobs
	q.Sample.Top = r.Top
	r.Prompt = engine.Prompt{}
	return q
}

// Turn is the turn of one answer of N sequences by the call's model. A form that it cannot
// keep to is refused.
func (r *Chat) Turn(ctx context.Context, a *server.API, c *server.Call) (turn.Request, error) {
	if err := Constrain(ctx, c, r.Sampling.Constraint); err != nil {
		return turn.Request{}, err
	}
	d := c.Lease.Defaults()
	at := func(int) engine.GenerateRequest { return r.Request(d, a.Options.DefaultMaxTokens) }
	return turn.Request{Prompts: 1, Sequences: max(r.Sampling.N, 1), At: at, Warn: c.Warn}, nil
}
