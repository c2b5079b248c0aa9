package openai

import (
	"cmp"
	"context"
	"slices"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// A textRequest is a body of /v1/completions, checked.
type textRequest struct {
	model    string
	prompts  []engine.EmbedInput
	sampling ask.Sampling // n is what the client gets for each prompt
	bestOf   int          // sequences to draw for each prompt
	stream   bool
	usage    usageWanted
	echo     bool
	suffix   string // the text after the reply; "" is none
	logprobs int    // -1 when not asked for
	echoed   []string
}

func (a api) readText(c *server.Call, o *body.Object) (*textRequest, error) {
	r := &textRequest{
		model:    o.Str("model"),
		prompts:  readPrompts(o),
		sampling: a.readSampling(c, o),
		echo:     o.Boolean("echo", false),
		logprobs: int(o.Integer("logprobs", -1, 0, int64(a.Options.MaxLogprobs))),
	}
	r.stream, r.usage = streamOptions(o)
	lo := int64(1)
	if r.echo {
		lo = 0
	}
	r.sampling.MaxTokens = a.Options.CompletionsTokens
	for _, name := range []string{"n_predict", "max_tokens"} { // the latter counts
		if n, ok := maxTokensField(o, name, lo); ok {
			r.sampling.MaxTokens = n
		}
	}
	ask.RefuseOthers(o, otherText)
	r.bestOf = int(o.Integer("best_of", int64(r.sampling.N), 1, int64(a.Options.MaxBestOf)))
	if o.Ok() && r.bestOf < r.sampling.N {
		o.Refuse(engine.CodeInvalidValue, "best_of", "best_of must be at least n, got %d with n = %d", r.bestOf, r.sampling.N)
	}
	if r.stream && r.bestOf > r.sampling.N {
		o.Refuse(engine.CodeInvalidValue, "best_of", "best_of greater than n cannot be streamed: the best is only known at the end; got %d with n = %d", r.bestOf, r.sampling.N)
	}
	if r.suffix = o.Str("suffix"); r.suffix != "" && r.echo {
		o.Refuse(engine.CodeInvalidValue, "echo", "echo and suffix cannot be used together; leave one of them out")
	}
	return r, a.Finish(c, o)
}

// otherText are fields of completions of vLLM without a counterpart here.
var otherText = []ask.Other{
	{Name: "add_special_tokens", Off: true, Instead: "send the prompt as tokens, which nothing is added to"},
}

// readPrompts reads the four forms a prompt may have. null is a prompt of
// nothing but BOS.
func readPrompts(o *body.Object) []engine.EmbedInput {
	v, ok := o.Get("prompt")
	if !ok {
		if _, null := o.Sent("prompt"); null {
			return []engine.EmbedInput{{}}
		}
		o.Need("prompt")
		return nil
	}
	return v.Texts(server.MaxPrompts)
}

// request builds the engine's request of prompt i, which it moves out of r.
func (r *textRequest) request(i int, d engine.Sampling) engine.GenerateRequest {
	q := engine.GenerateRequest{Prompt: engine.Prompt{Text: r.prompts[i].Text, Tokens: r.prompts[i].Tokens}}
	r.prompts[i] = engine.EmbedInput{}
	r.sampling.Apply(&q, d)
	q.N = r.bestOf
	q.NoTokens = r.sampling.MaxTokens == 0
	q.PromptLogprobs = r.echo && r.logprobs >= 0
	q.Sample.Logprobs = r.logprobs >= 0 || r.bestOf > r.sampling.N
	q.Sample.Top = max(r.logprobs, 0)
	return q
}

// infill makes prompts that have the model fill in the text before the suffix.
func (r *textRequest) infill(ctx context.Context, l engine.Lease) error {
	if r.suffix == "" {
		return nil
	}
	for i, p := range r.prompts {
		if p.Tokens != nil {
			return fault.New(engine.CodeInvalidValue, "prompt", "a prompt before a suffix must be text, not tokens")
		}
		res, err := l.Infill(ctx, engine.InfillRequest{Prefix: p.Text, Suffix: r.suffix, Param: "suffix"})
		if err != nil {
			return fault.Classify(ctx, err)
		}
		r.prompts[i] = engine.EmbedInput{Tokens: res.Tokens}
	}
	return nil
}

// maxEcho bounds the text of echoed prompts, each of which is answered n times: a
// token of a few digits may stand for more than a hundred bytes.
const maxEcho = 64 << 20

// spell finds the text an echoed prompt shows.
func (r *textRequest) spell(ctx context.Context, l engine.Lease) error {
	r.echoed = make([]string, len(r.prompts))
	if !r.echo {
		return nil
	}
	total := 0
	for i, p := range r.prompts {
		r.echoed[i] = p.Text
		if p.Tokens != nil {
			text, err := ask.Spelled(ctx, l, p.Tokens)
			if err != nil {
				return err
			}
			r.echoed[i] = text
		}
		if total += len(r.echoed[i]) * r.sampling.N; total > maxEcho {
			return fault.New(engine.CodeInvalidValue, "echo", "echo would return more than %d bytes of prompts; send fewer prompts, a smaller n or leave it out", maxEcho)
		}
	}
	return nil
}

type textCompletion struct {
	chatHead
	Choices []textChoice `json:"choices"`
	Usage   any          `json:"usage,omitempty"` // absent, null or *usage
	Timings *timings     `json:"timings,omitempty"`
}

type textChoice struct {
	Text         string        `json:"text"`
	Index        int           `json:"index"`
	Logprobs     *textLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	StopReason   any           `json:"stop_reason,omitempty"`
}

func (a api) completions(c *server.Call, o *body.Object) error {
	r, err := a.readText(c, o)
	if err != nil {
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
	if err := r.infill(ctx, c.Lease); err != nil {
		return err
	}
	head := newHead("cmpl-", "text_completion", info)
	d := c.Lease.Defaults()
	at := func(i int) engine.GenerateRequest { return r.request(i, d) }
	return turn.Answer(ctx, a.API, c, turn.Request{Prompts: len(r.prompts), Sequences: r.bestOf, At: at}, turn.Dialect{
		Streamed: r.stream, Framing: stream.ServerEvents,
		Stream: func(out *stream.Writer, t *turn.Tally) turn.Spelling {
			return newTextStream(&eventStream{out: out, t: t, load: c.Loading}, head, r)
		},
		Whole: func(replies []turn.Reply, t *turn.Tally) any {
			out := textCompletion{chatHead: head, Usage: newUsage(t), Timings: newTimings(t, c.Loading)}
			for i, reply := range replies {
				for j, s := range best(reply.Sequences, r.sampling.N) {
					out.Choices = append(out.Choices, r.choice(i, j, s, reply.Prompt))
				}
			}
			return out
		},
	})
}

// best returns the n sequences of the highest mean log-probability, or all in
// their order when n is all.
func best(seqs []turn.Sequence, n int) []*turn.Sequence {
	out := make([]*turn.Sequence, len(seqs))
	for i := range seqs {
		out[i] = &seqs[i]
	}
	if n == len(out) {
		return out
	}
	mean := func(s *turn.Sequence) float64 { return s.End.Cumulative / float64(max(s.End.Tokens, 1)) }
	slices.SortStableFunc(out, func(x, y *turn.Sequence) int { return cmp.Compare(mean(y), mean(x)) })
	return out[:n]
}

// choice spells sequence j of prompt i. Choices count prompt by prompt.
func (r *textRequest) choice(i, j int, s *turn.Sequence, prompt []engine.Logprob) textChoice {
	c := textChoice{
		Text: r.echoed[i] + s.Text(), Index: i*r.sampling.N + j,
		FinishReason: &s.End.Reason, StopReason: s.End.StopReason,
	}
	if r.logprobs >= 0 {
		var at textOffsets
		c.Logprobs = newTextLogprobs()
		if r.echo {
			c.Logprobs.addPrompt(&at, prompt, r.echoed[i], r.logprobs)
		}
		c.Logprobs.add(&at, s.Logprobs, r.logprobs)
	}
	return c
}

func newTextLogprobs() *textLogprobs {
	return &textLogprobs{Tokens: []string{}, Logprob: []*float32{}, Top: []map[string]float32{}, Offset: []int{}}
}
