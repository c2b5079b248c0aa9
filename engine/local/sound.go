package local

import (
	"context"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/vad"
	"quern/engine/catalog"
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
	return withLexicon(p.n, speech.New(p.n.ID, tts.Formant(), p.pronouncer, p.o.VoiceAliases, residency.Admits(p.n), 0))
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
	return withLexicon(p.n, speech.New(p.n.ID, synth, speech.ReaderFor(about.Path, p.pronouncer), p.o.VoiceAliases, residency.Admits(p.n), time.Since(p.start)))
}

// withLexicon gives a voice the lexicon that is its own.
func withLexicon(n *catalog.Entry, m *speech.Model) (residency.Model, error) {
	file := n.Options.Lexicon
	if err := m.Lexicon(file); err != nil {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: its lexicon: %s", n.ID, strings.ReplaceAll(err.Error(), file, "the file")).Because(err)
	}
	return m, nil
}

func openWhisper(ctx context.Context, p *opening) (residency.Model, error) {
	return p.recogniser(ctx, func(path string) (*asr.Model, error) {
		return asr.Open(ctx, path, p.backend, asr.OpenOptions{Watch: p.watch()})
	})
}

func openWhisperONNX(ctx context.Context, p *opening) (residency.Model, error) {
	return p.recogniser(ctx, func(path string) (*asr.Model, error) { return serve.Whisper(ctx, path, p.graphs()) })
}

// detectorOf reads the detector of speech of a recogniser; nil is the built-in one.
func detectorOf(n *catalog.Entry) (engine.Detector, error) {
	file := n.Options.Detector
	d, err := transcribe.OpenDetector(file)
	if err != nil {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: its detector of speech: %s", n.ID, strings.ReplaceAll(err.Error(), file, "the file")).Because(err)
	}
	return d, nil
}

// Detector returns what tells speech from other sound for the recogniser of a name, as
// Open finds it. It loads no model.
func (e *Engine) Detector(recogniser string) (engine.Detector, error) {
	n, err := e.catalog.Lookup(recogniser, engine.KindTranscription)
	if err != nil {
		return nil, err
	}
	d, err := detectorOf(n.Entry)
	if d == nil && err == nil {
		d = vad.EnergyDetector{}
	}
	return d, err
}

// recogniser loads what listens.
func (p *opening) recogniser(ctx context.Context, open func(path string) (*asr.Model, error)) (residency.Model, error) {
	about := p.n.About()
	if err := p.load.Room(ctx, soundMemory*about.SizeBytes); err != nil {
		return nil, err
	}
	detector, err := detectorOf(p.n)
	if err != nil {
		return nil, err
	}
	m, err := open(about.Path)
	if err != nil {
		return nil, err
	}
	return transcribe.New(p.n.ID, m, detector, about.SizeBytes, residency.Admits(p.n), time.Since(p.start)), nil
}
