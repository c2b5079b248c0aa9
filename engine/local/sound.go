package local

import (
	"context"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/onnx/serve"
	"quern/engine/residency"
	"quern/engine/speech"
	"quern/engine/transcribe"
	"quern/engine/tts"
)

// soundMemory is how often its file a model of sound takes of memory: weights are read as
// float32 whatever the file's type.
const soundMemory = 2

func openFormant(_ context.Context, p *opening) (residency.Model, error) {
	return speech.New(p.n.ID, tts.Formant(), p.pronouncer, p.o.VoiceAliases, residency.Admits(p.n), 0), nil
}

func openKokoro(ctx context.Context, p *opening) (residency.Model, error) {
	about := p.n.About()
	if err := p.load.Room(ctx, soundMemory*about.SizeBytes); err != nil {
		return nil, err
	}
	synth, err := tts.OpenKokoro(about.Path, p.backend)
	if err != nil {
		return nil, err
	}
	return speech.New(p.n.ID, synth, speech.ReaderFor(about.Path, p.pronouncer), p.o.VoiceAliases, residency.Admits(p.n), time.Since(p.start)), nil
}

func openWhisper(ctx context.Context, p *opening) (residency.Model, error) {
	return p.recogniser(ctx, func(path string) (*asr.Model, error) {
		return asr.Open(ctx, path, p.backend, asr.OpenOptions{Watch: p.watch()})
	})
}

func openWhisperONNX(ctx context.Context, p *opening) (residency.Model, error) {
	return p.recogniser(ctx, func(path string) (*asr.Model, error) { return serve.Whisper(ctx, path, p.graphs()) })
}

// recogniser loads what listens.
func (p *opening) recogniser(ctx context.Context, open func(path string) (*asr.Model, error)) (residency.Model, error) {
	about := p.n.About()
	if err := p.load.Room(ctx, soundMemory*about.SizeBytes); err != nil {
		return nil, err
	}
	file := p.n.Options.Detector
	detector, err := transcribe.OpenDetector(file)
	if err != nil {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: its detector of speech: %s", p.n.ID, strings.ReplaceAll(err.Error(), file, "the file")).Because(err)
	}
	m, err := open(about.Path)
	if err != nil {
		return nil, err
	}
	return transcribe.New(p.n.ID, m, detector, about.SizeBytes, residency.Admits(p.n), time.Since(p.start)), nil
}
