package local

import (
	"context"
	"errors"

	"quern/engine"
	"quern/engine/asr/vad"
	"quern/engine/catalog"
	"quern/engine/speech"
	"quern/engine/tts"
)

// A served implements engine.Model.
type served struct {
	catalog.Ref
	e *Engine
}

// Find finds the model of a name, as catalog.Lookup does. That of an alias goes by the name
// of what the alias stands for.
func (e *Engine) Find(name string, kinds ...engine.Kind) (engine.Model, error) {
	n, err := e.catalog.Lookup(name, kinds...)
	if err != nil {
		return nil, err
	}
	return served{n, e}, nil
}

// Info implements engine.Model.
func (m served) Info() engine.ModelInfo { return m.e.info(m.Ref) }

// Unload implements engine.Model.
func (m served) Unload() error { return m.e.models.Unload(m.Entry) }

// Detector implements engine.Model.
func (m served) Detector() (engine.Detector, error) {
	if err := m.Answers(engine.KindTranscription); err != nil {
		return nil, err
	}
	d, err := detectorOf(m.Entry)
	if d == nil && err == nil {
		d = vad.EnergyDetector{}
	}
	return d, err
}

// CheckVoice implements engine.Model.
func (m served) CheckVoice(voice string) error {
	if err := m.Answers(engine.KindSpeech); err != nil {
		return err
	}
	var voices []tts.Voice
	for _, v := range m.About().Voices {
		voices = append(voices, v.Voice)
	}
	if len(voices) == 0 {
		return nil
	}
	return speech.Aliases(m.e.o.VoiceAliases).CheckVoice(voices, voice)
}

// Needs implements engine.Model: from the headers of a model that is not loaded. One is
// worked out at a time.
func (m served) Needs(ctx context.Context) (engine.Needs, error) {
	out := engine.Needs{Limit: m.e.o.MemoryLimit, Bytes: m.e.models.State(m.Entry).Bytes}
	a := m.About()
	if out.Bytes > 0 || a.Remote {
		return out, nil
	}
	leave, err := m.e.plan(ctx)
	if err != nil {
		return out, err
	}
	defer leave()
	out.Bytes, err = kindOf(a.Path).needs(ctx, m.e, m.Entry)
	var known *engine.Error
	switch {
	case errors.As(err, &known) && known.Code == engine.CodeOutOfMemory:
		out.Why = err
	case err != nil:
		return out, err
	case out.Bytes > out.Limit:
		out.Why = engine.Errorf(engine.CodeOutOfMemory, "", "model %q needs %s and memory_limit is %s", m.ID, engine.MiB(out.Bytes), engine.MiB(out.Limit))
	}
	return out, nil
}

// Describe implements engine.Model, from files and options. Like Needs it reads one model at a
// time.
func (m served) Describe(ctx context.Context) (engine.Details, error) {
	d := engine.Details{Sampling: m.Options.Sampling}
	a := m.About()
	if a.Remote {
		return d, nil
	}
	if !a.Sound() {
		d.Slots = m.Options.Defaulted().Slots
	}
	details := kindOf(a.Path).details
	if details == nil {
		return d, nil
	}
	leave, err := m.e.plan(ctx)
	if err != nil {
		return d, err
	}
	defer leave()
	if err := details(ctx, m.Entry, &d); err != nil {
		return d, engine.Errorf(engine.CodeEngineFailure, "", "the files of model %q cannot be read", m.ID).Because(err)
	}
	return d, nil
}

// plan waits until no other model's files are read just to describe it. leave ends that.
func (e *Engine) plan(ctx context.Context) (leave func(), err error) {
	select {
	case e.planning <- struct{}{}:
		return func() { <-e.planning }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
