package textgen

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"quern/engine"
	"quern/engine/constrain"
	"quern/engine/lm"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/engine/token"
)

// Generate answers r, whose prompt it clears once that is encoded, so that the text is not kept in
// memory while the caller waits. adapter is one of the model's, from 1; 0 is none. The sequence is
// to be used once.
func (m *Model) Generate(ctx context.Context, r *engine.GenerateRequest, adapter int) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		mask, _, err := m.constrain(ctx, r.Constraint)
		if err != nil {
			yield(engine.Event{}, err)
			return
		}
		prompt, dropped, talk, err := m.prompt(ctx, &r.Prompt)
		if err != nil {
			yield(engine.Event{}, err)
			return
		}
		answers, err := talk.answerFormat(r)
		if err == nil && answers != nil && (len(r.Prompt.Tools) > 0 || r.Constraint != nil) {
			mask, err = answers.constrain(ctx, m, r)
		}
		constrained := mask != nil
		if err == nil && answers != nil {
			mask, err = answers.limited(ctx, m, r, mask)
		}
		if err != nil {
			yield(engine.Event{}, err)
			return
		}
		predicted, err := m.predicted(ctx, r)
		if err != nil {
			yield(engine.Event{}, err)
			return
		}
		barred := talk.barred(r)
		field := r.Prompt.Field()
		r.Prompt, talk = engine.Prompt{}, nil
		if err := m.check(r); err != nil {
			yield(engine.Event{}, err)
			return
		}
		if barred != nil {
			r.Sample.Bias = maps.Clone(r.Sample.Bias)
			if r.Sample.Bias == nil {
				r.Sample.Bias = map[token.ID]float32{}
			}
			for _, id := range barred {
				r.Sample.Bias[id] = bars
			}
		}
		// Ending ctx's copy when we return cancels the request even if the
		// scheduler's stream was never read.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		st, err := m.sched.Submit(ctx, m.request(r, prompt, predicted, mask, adapter, engine.IsBackground(ctx)))
		if err != nil {
			yield(engine.Event{}, m.failure(ctx, err, field, r.Constraint))
			return
		}
		admitted := engine.Event{Type: engine.Admitted, PromptTokens: len(prompt), Truncated: dropped, Constrained: constrained}
		if answers != nil {
			admitted.Notes = answers.notes
		}
		if !yield(admitted, nil) {
			return
		}
		g := newGeneration(m, r, st, answers, yield)
		g.done.PromptTokens, g.predicted = len(prompt), len(predicted) > 0
		if err := g.run(); err != nil {
			yield(engine.Event{}, m.failure(ctx, err, field, r.Constraint))
		}
	}
}

// predicted is the prediction of r in tokens, at most as many as a reply may have.
func (m *Model) predicted(ctx context.Context, r *engine.GenerateRequest) ([]token.ID, error) {
	text := r.Prediction
	if r.Prediction = ""; text == "" {
		return nil, nil
	}
	ids, _, err := m.Alone(ctx, text, m.room(), true, func(e token.Encoder) ([]token.ID, error) {
		return e.Encode(nil, text, false)
	})
	return slices.Clip(ids[:min(len(ids), m.room())]), err
}

// check returns an error if the request names ids that are not in the vocabulary.
func (m *Model) check(r *engine.GenerateRequest) error {
	if err := m.Check(slices.Collect(maps.Keys(r.Sample.Bias)), "logit_bias"); err != nil {
		return err
	}
	return m.Check(r.StopIDs, "stop_token_ids")
}

// CheckConstraint returns an error if replies cannot keep to a constraint, and the parts of a
// schema that are read as comments.
func (m *Model) CheckConstraint(ctx context.Context, c *engine.Constraint) (notes []string, err error) {
	_, notes, err = m.constrain(ctx, c)
	return notes, err
}

// constrain returns a function that makes the masks of a constraint, nil if there is none.
func (m *Model) constrain(ctx context.Context, c *engine.Constraint) (mask func() sample.Mask, notes []string, err error) {
	if c == nil {
		return nil, nil, nil
	}
	g, err := m.forms.Compile(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return g.Mask, g.Notes, nil
}

func (m *Model) request(r *engine.GenerateRequest, prompt, predicted []token.ID, mask func() sample.Mask, adapter int, behind bool) sched.Request {
	return sched.Request{
		Prompt: prompt, N: max(1, r.N),
		Max: r.MaxTokens, Min: r.MinTokens,
		EOG: m.Vocab.Ending(), IgnoreEOS: r.IgnoreEOS, StopIDs: r.StopIDs,
		NoTokens: r.NoTokens, Sample: r.Sample, Mask: mask,
		PromptLogprobs: r.PromptLogprobs, NoPromptCache: r.NoPromptCache, Adapter: int32(adapter),
		Prediction: predicted, MaxDraft: r.MaxDraft, Background: behind, Follows: r.Follows,
	}
}

// failure turns an error of the scheduler into one that may be shown to clients. field is the
// request's field of the prompt, k its constraint.
func (m *Model) failure(ctx context.Context, err error, field string, k *engine.Constraint) error {
	var full *sched.QueueFullError
	var long *sched.TooLongError
	switch {
	case errors.As(err, &full):
		return engine.Errorf(engine.CodeQueueFull, "", "model %q has %d requests waiting; try again later, or raise its queue", m.ID, full.Waiting).After(full.Wait).Because(err)
	case errors.As(err, &long):
		return m.TooLong(field, lm.Size{Tokens: long.Tokens})
	case errors.Is(err, sched.ErrNoPrompt):
		return engine.Errorf(engine.CodeInvalidValue, field, "the prompt has no tokens")
	case errors.Is(err, sched.ErrStopped):
		return engine.ErrShuttingDown()
	case errors.Is(err, sample.ErrBarred):
		return engine.Errorf(engine.CodeEngineFailure, "", "no token is left to go on with: logit_bias, ignore_eos, min_tokens and the form asked for bar all together; relax one of them").Because(err)
	}
	if known := constrain.Failure(err, k); known != nil {
		return known
	}
	return engine.Stopped(ctx, err)
}

// A generation turns the tokens of one request into events.
type generation struct {
	m     *Model
	r     *engine.GenerateRequest
	st    *sched.Stream
	yield func(engine.Event, error) bool
	seqs  []*reply
	done  engine.Event

	predicted bool // the request says what the reply may be
}

func newGeneration(m *Model, r *engine.GenerateRequest, st *sched.Stream, l *answerFormat, yield func(engine.Event, error) bool) *generation {
	g := &generation{m: m, r: r, st: st, yield: yield, done: engine.Event{Type: engine.Done}}
	for range max(1, r.N) {
		q := newReply(m.Vocab, r.Stop, l)
		q.formed = r.Constraint != nil
		g.seqs = append(g.seqs, q)
	}
	return g
}

// run yields events until the reply is whole, the caller stops reading, or it
// fails.
func (g *generation) run() error {
	for ev, err := range g.st.Events() {
		if err != nil {
			return err
		}
		more := true
		switch ev.Type {
		case sched.PromptDone:
			g.done.CachedTokens = ev.Prompt.Cached
			more = g.yield(engine.Event{Type: engine.PromptDone, PromptTokens: g.done.PromptTokens, CachedTokens: ev.Prompt.Cached, Prompt: g.logprobs(ev.Prompt.Logprobs)}, nil)
		case sched.Token:
			more = g.token(ev.Seq, ev.Token)
		case sched.Finish:
			more = g.finish(ev)
		}
		if !more {
			return nil
		}
	}
	t := g.st.Timings()
	g.done.Timings = engine.Timings{Queue: t.Queue, Prompt: t.Prompt, Predict: t.Predict, First: t.First}
	g.yield(g.done, nil)
	return nil
}

func (g *generation) token(seq int, t sample.Token) bool {
	q := g.seqs[seq]
	if q.stopped {
		return true
	}
	var entry *engine.Logprob
	if g.r.Sample.Logprobs {
		l := g.logprob(t)
		entry = &l
	}
	g.done.OutputTokens++
	thought := q.thought
	q.push(t.ID, t.Logprob, entry)
	g.done.Reasoning += q.thought - thought
	if q.stopped {
		g.st.Stop(seq)
	} else if g.lags(seq) {
		return true
	}
	return g.emit(seq)
}

// late is how many tokens of a sequence wait in its queue before they are joined in one Delta.
const late = 8

// lags reports whether the text of a sequence is yielded together with that of the next token,
// which is in the queue already.
func (g *generation) lags(seq int) bool {
	waiting, q := g.st.Queued(seq), g.seqs[seq]
	q.joins = waiting >= late || q.joins && waiting > 0
	return q.joins
}

// emit yields the events of a reply that have become ready, if any.
func (g *generation) emit(seq int) bool {
	for _, ev := range g.seqs[seq].events() {
		ev.Index, ev.OutputTokens, ev.Reasoning = seq, g.done.OutputTokens, g.done.Reasoning
		if !g.yield(ev, nil) {
			return false
		}
	}
	return true
}

func (g *generation) finish(ev sched.Event) bool {
	q := g.seqs[ev.Seq]
	if g.predicted {
		g.done.Predicted += ev.Right
		g.done.Unpredicted += ev.Wrong
	}
	thought := q.thought
	q.flush(ev.StopID)
	g.done.Reasoning += q.thought - thought
	if !g.emit(ev.Seq) {
		return false
	}
	out := engine.Event{
		Type: engine.Finish, Index: ev.Seq, Reason: string(ev.Reason), Cumulative: q.cumulative, Tokens: q.tokens,
		OutputTokens: g.done.OutputTokens, Reasoning: g.done.Reasoning,
	}
	switch {
	case q.stopped:
		out.Reason = engine.ReasonStop
		if q.stop != "" {
			out.StopReason = q.stop
		}
	case ev.StopID != token.None && !g.m.Vocab.Ends(ev.StopID):
		out.StopReason = ev.StopID
	}
	if q.calls > 0 && out.Reason == engine.ReasonStop {
		out.Reason = engine.ReasonCalls
	}
	return g.yield(out, nil)
}

func (g *generation) logprobs(tokens []sample.Token) []engine.Logprob {
	var list []engine.Logprob
	for _, t := range tokens {
		list = append(list, g.logprob(t))
	}
	return list
}

func (g *generation) logprob(t sample.Token) engine.Logprob {
	l := engine.Logprob{ID: t.ID, Bytes: g.m.Vocab.Bytes(t.ID), Logprob: t.Logprob}
	for _, c := range t.Top {
		l.Top = append(l.Top, engine.Alternative{ID: c.ID, Bytes: g.m.Vocab.Bytes(c.ID), Logprob: c.Logprob})
	}
	return l
}
