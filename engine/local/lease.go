package local

import (
	"context"
	"iter"
	"time"

	"quern/engine"
	"quern/engine/embed"
	"quern/engine/residency"
	"quern/engine/speech"
	"quern/engine/textgen"
	"quern/engine/token"
	"quern/engine/transcribe"
)

// A lease implements engine.Lease: it passes each action to the package that does it.
type lease struct {
	*residency.Lease
	info    engine.ModelInfo
	adapter int // of the model, from 1; 0 is none
}

// Open finds the model a request names, as catalog.Lookup does, makes it resident and
// keeps it so until the lease is released. kinds are what the request may be answered
// by, the best first; without kinds any model will do.
func (e *Engine) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	n, err := e.catalog.Lookup(name, kinds...)
	if err != nil {
		return nil, err
	}
	l, err := e.models.Acquire(ctx, n.Entry)
	if err != nil {
		return nil, err
	}
	// A fetched model may be of another kind than its name suggested.
	if err := n.Answers(kinds...); err != nil {
		l.Release()
		return nil, err
	}
	return &lease{l, e.info(n), n.Adapter}, nil
}

// Info implements engine.Lease.
func (l *lease) Info() engine.ModelInfo { return l.info }

// Defaults implements engine.Lease.
func (l *lease) Defaults() engine.Sampling { return l.Options.Sampling }

// begin begins an action that takes a model of a kind ("" for any): job returns the part of
// the model that does it, nil where it has none.
func begin[M residency.Model, J any](l *lease, kind engine.Kind, keep *time.Duration, job func(M) *J) (j *J, done func(), err error) {
	if m, ok := l.Model.(M); ok {
		j = job(m)
	}
	if j == nil || l.Answers(kind) != nil {
		return nil, nil, l.Refusal(kind)
	}
	done, err = l.Use(keep)
	return j, done, err
}

func text(m *textModel) *textgen.Model          { return m.text }
func vectors(m *textModel) *embed.Model         { return m.vectors }
func voice(m *speech.Model) *speech.Model       { return m }
func ear(m *transcribe.Model) *transcribe.Model { return m }

// Generate implements engine.Lease.
func (l *lease) Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	kind := engine.KindCompletion
	if r.Prompt.Messages != nil {
		kind = engine.KindChat
	}
	return stream(l, kind, r.KeepAlive, text, func(m *textgen.Model) iter.Seq2[engine.Event, error] { return m.Generate(ctx, &r, l.adapter) })
}

// stream runs an action that answers with a sequence.
func stream[M residency.Model, J, T any](l *lease, kind engine.Kind, keep *time.Duration, job func(M) *J, do func(*J) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		j, done, err := begin(l, kind, keep, job)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		defer done()
		do(j)(yield)
	}
}

// once runs an action that has one answer.
func once[M residency.Model, J, T any](l *lease, kind engine.Kind, keep *time.Duration, job func(M) *J, do func(*J) (T, error)) (answer T, err error) {
	j, done, err := begin(l, kind, keep, job)
	if err != nil {
		return answer, err
	}
	defer done()
	return do(j)
}

// Transcribe implements engine.Lease.
func (l *lease) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return stream(l, engine.KindTranscription, r.KeepAlive, ear, func(m *transcribe.Model) iter.Seq2[engine.Segment, error] { return m.Transcribe(ctx, r) })
}

// Speak implements engine.Lease.
func (l *lease) Speak(ctx context.Context, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return stream(l, engine.KindSpeech, r.KeepAlive, voice, func(m *speech.Model) iter.Seq2[engine.Speech, error] { return m.Speak(ctx, r) })
}

// CheckVoice implements engine.Lease.
func (l *lease) CheckVoice(name, language string) error {
	m, done, err := begin(l, engine.KindSpeech, nil, voice)
	if err != nil {
		return err
	}
	defer done()
	return m.CheckVoice(name, language)
}

// CheckConstraint implements engine.Lease.
func (l *lease) CheckConstraint(ctx context.Context, c *engine.Constraint) ([]string, error) {
	return once(l, engine.KindCompletion, nil, text, func(m *textgen.Model) ([]string, error) { return m.CheckConstraint(ctx, c) })
}

// Embed implements engine.Lease.
func (l *lease) Embed(ctx context.Context, r engine.EmbedRequest) (engine.EmbedResult, error) {
	return once(l, engine.KindEmbedding, r.KeepAlive, vectors, func(m *embed.Model) (engine.EmbedResult, error) { return m.With(l.adapter).Embed(ctx, r) })
}

// Rerank implements engine.Lease.
func (l *lease) Rerank(ctx context.Context, r engine.RerankRequest) (engine.RerankResult, error) {
	switch l.info.Kind {
	case engine.KindChat, engine.KindCompletion:
		return engine.RerankResult{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q makes text; reranking needs a reranker or an embedding model", l.ID)
	case engine.KindClassification:
		return engine.RerankResult{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q classifies texts; reranking needs a reranker or an embedding model", l.ID)
	}
	return once(l, "", r.KeepAlive, vectors, func(m *embed.Model) (engine.RerankResult, error) { return m.With(l.adapter).Rerank(ctx, r) })
}

// Classify implements engine.Lease.
func (l *lease) Classify(ctx context.Context, r engine.ClassifyRequest) (engine.ClassifyResult, error) {
	return once(l, engine.KindClassification, r.KeepAlive, vectors, func(m *embed.Model) (engine.ClassifyResult, error) { return m.With(l.adapter).Classify(ctx, r) })
}

// Tokenize implements engine.Lease.
func (l *lease) Tokenize(ctx context.Context, r engine.TokenizeRequest) (engine.TokenizeResult, error) {
	return once(l, "", nil, text, func(m *textgen.Model) (engine.TokenizeResult, error) { return m.Tokenize(ctx, r) })
}

// Infill implements engine.Lease.
func (l *lease) Infill(ctx context.Context, r engine.InfillRequest) (engine.TokenizeResult, error) {
	return once(l, engine.KindCompletion, nil, text, func(m *textgen.Model) (engine.TokenizeResult, error) { return m.Infill(ctx, r) })
}

// Detokenize implements engine.Lease.
func (l *lease) Detokenize(ctx context.Context, ids []token.ID) (iter.Seq[[]byte], error) {
	return once(l, "", nil, text, func(m *textgen.Model) (iter.Seq[[]byte], error) { return m.Detokenize(ctx, ids) })
}
