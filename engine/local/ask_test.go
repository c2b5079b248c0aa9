package local

import (
	"context"
	"iter"

	"quern/engine"
	"quern/engine/residency"
)

// What a request does, for tests that ask one thing of a model: it is leased for
// that alone.

func with[T any](ctx context.Context, e *Engine, model string, kind engine.Kind, do func(engine.Lease) (T, error)) (T, error) {
	var kinds []engine.Kind
	if kind != "" {
		kinds = append(kinds, kind)
	}
	l, err := e.Open(ctx, model, kinds...)
	if err != nil {
		var none T
		return none, err
	}
	defer l.Release()
	return do(l)
}

func streamed[T any](ctx context.Context, e *Engine, model string, kind engine.Kind, do func(engine.Lease) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		_, err := with(ctx, e, model, kind, func(l engine.Lease) (struct{}, error) {
			do(l)(yield)
			return struct{}{}, nil
		})
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func (e *Engine) Generate(ctx context.Context, model string, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	kind := engine.KindCompletion
	if r.Prompt.Messages != nil {
		kind = engine.KindChat
	}
	return streamed(ctx, e, model, kind, func(l engine.Lease) iter.Seq2[engine.Event, error] { return l.Generate(ctx, r) })
}

func (e *Engine) Embed(ctx context.Context, model string, r engine.EmbedRequest) (engine.EmbedResult, error) {
	return with(ctx, e, model, engine.KindEmbedding, func(l engine.Lease) (engine.EmbedResult, error) { return l.Embed(ctx, r) })
}

func (e *Engine) Rerank(ctx context.Context, model string, r engine.RerankRequest) (engine.RerankResult, error) {
	return with(ctx, e, model, "", func(l engine.Lease) (engine.RerankResult, error) { return l.Rerank(ctx, r) })
}

func (e *Engine) Tokenize(ctx context.Context, model string, r engine.TokenizeRequest) (engine.TokenizeResult, error) {
	return with(ctx, e, model, "", func(l engine.Lease) (engine.TokenizeResult, error) { return l.Tokenize(ctx, r) })
}

func (e *Engine) Transcribe(ctx context.Context, model string, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return streamed(ctx, e, model, engine.KindTranscription, func(l engine.Lease) iter.Seq2[engine.Segment, error] { return l.Transcribe(ctx, r) })
}

func (e *Engine) Speak(ctx context.Context, model string, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return streamed(ctx, e, model, engine.KindSpeech, func(l engine.Lease) iter.Seq2[engine.Speech, error] { return l.Speak(ctx, r) })
}

func (e *Engine) CheckVoice(model, voice, language string) error {
	_, err := with(context.Background(), e, model, engine.KindSpeech, func(l engine.Lease) (struct{}, error) { return struct{}{}, l.CheckVoice(voice, language) })
	return err
}

func (e *Engine) Load(ctx context.Context, model string) error {
	_, err := with(ctx, e, model, "", func(engine.Lease) (struct{}, error) { return struct{}{}, nil })
	return err
}

// leased returns a model of the engine's own type.
func leased[M residency.Model](ctx context.Context, e *Engine, model string) (m M, release func(), err error) {
	l, err := e.Open(ctx, model)
	if err != nil {
		return m, nil, err
	}
	return l.(*lease).Model.(M), l.Release, nil
}

// What is asked of a model that is not leased.

func found[T any](e *Engine, name string, kinds []engine.Kind, ask func(engine.Model) (T, error)) (T, error) {
	m, err := e.Find(name, kinds...)
	if err != nil {
		var none T
		return none, err
	}
	return ask(m)
}

func (e *Engine) described(name string, kinds ...engine.Kind) (engine.ModelInfo, error) {
	return found(e, name, kinds, func(m engine.Model) (engine.ModelInfo, error) { return m.Info(), nil })
}

func (e *Engine) Needs(ctx context.Context, name string) (engine.Needs, error) {
	return found(e, name, nil, func(m engine.Model) (engine.Needs, error) { return m.Needs(ctx) })
}

func (e *Engine) Describe(ctx context.Context, name string) (engine.Details, error) {
	return found(e, name, nil, func(m engine.Model) (engine.Details, error) { return m.Describe(ctx) })
}

func (e *Engine) Unload(name string) error {
	_, err := found(e, name, nil, func(m engine.Model) (struct{}, error) { return struct{}{}, m.Unload() })
	return err
}
