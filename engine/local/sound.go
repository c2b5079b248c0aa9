package local

import (
	"context"
	"strings"
	"sync"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/conformer"
	"quern/engine/asr/diarize"
	"quern/engine/catalog"
	"quern/engine/lm"
	"quern/engine/onnx/serve"
	"quern/engine/residency"
	"quern/engine/speech"
	"quern/engine/transcribe"
	"quern/engine/tts"
	fonnx "quern/formats/onnx"
)

// soundMemory is how often its file a model of sound takes of memory: weights are read as
// float32 whatever the file's type.
const soundMemory = 2

func openFormant(_ context.Context, p *opening) (residency.Model, error) {
	return withLexicon(p.n, speech.New(p.n.ID, tts.Formant(), pronouncer, p.o.VoiceAliases, residency.Admits(p.n), 0))
}

func openKokoro(ctx context.Context, p *opening) (residency.Model, error) {
	about := p.n.About()
	if err := p.load.Room(ctx, soundMemory*about.SizeBytes); err != nil {
		return nil, err
	}
	reader := speech.ReaderFor(about.Path, pronouncer)
	var beside sync.WaitGroup
	beside.Go(func() { reader.Prepare(ctx) })
	synth, err := tts.OpenKokoro(about.Path, p.backend)
	beside.Wait()
	if err != nil {
		return nil, err
	}
	return withLexicon(p.n, speech.New(p.n.ID, synth, reader, p.o.VoiceAliases, residency.Admits(p.n), time.Since(p.start)))
}

// withLexicon loads the lexicon of a voice's options.
func withLexicon(n *catalog.Entry, m *speech.Model) (residency.Model, error) {
	file := n.Options.Lexicon
	if err := m.Lexicon(file); err != nil {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: its lexicon: %s", n.ID, strings.ReplaceAll(err.Error(), file, "the file")).Because(err)
	}
	return m, nil
}

func openWhisper(ctx context.Context, p *opening) (residency.Model, error) {
	return p.recogniser(ctx, soundMemory*p.n.About().SizeBytes, func(path string) (transcribe.Recogniser, error) {
		return asr.Open(ctx, path, p.backend, asr.OpenOptions{Watch: p.callbacks()})
	})
}

func openWhisperONNX(ctx context.Context, p *opening) (residency.Model, error) {
	return p.recogniser(ctx, soundMemory*p.n.About().SizeBytes, func(path string) (transcribe.Recogniser, error) {
		return serve.Whisper(ctx, path, p.graphs())
	})
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

// describeConformer reads the description of a Parakeet or Canary from its files.
func describeConformer(_, path string, _ *engine.ModelOptions) (*catalog.About, error) {
	i, err := conformer.Describe(path)
	if err != nil {
		return nil, err
	}
	return &catalog.About{ModelInfo: engine.ModelInfo{Kind: engine.KindTranscription, Architecture: i.Architecture(), Format: "onnx", Quantization: i.Number, SizeBytes: i.Size, Undrawn: true}}, nil
}

// needsConformer is the memory of the weights and of the longest window.
func needsConformer(_ context.Context, _ *Engine, n *catalog.Entry) (int64, error) {
	i, err := conformer.Describe(n.About().Path)
	if err != nil {
		return 0, err
	}
	return i.Memory + i.Work, nil
}

func openConformer(ctx context.Context, p *opening) (residency.Model, error) {
	needs, err := needsConformer(ctx, p.Engine, p.n)
	if err != nil {
		return nil, err
	}
	return p.recogniser(ctx, needs, func(path string) (transcribe.Recogniser, error) {
		m, err := conformer.Open(ctx, path, conformer.OpenOptions{Compile: func(ctx context.Context, g *fonnx.Model) (conformer.Graph, error) {
			return p.graphs().Graph(ctx, g)
		}})
		if err == nil && m.Batches() != "" {
			p.log.InfoContext(ctx, "windows of sound are not run together", "model", p.n.ID, "why", m.Batches())
		}
		return m, err
	})
}

// speakers loads the networks of diarization; nil where the recogniser has none.
func (p *opening) speakers(ctx context.Context) (*diarize.Model, error) {
	d := p.n.Options.Diarize
	if d == (engine.Diarizer{}) {
		return nil, nil
	}
	m, err := transcribe.OpenSpeakers(ctx, d, func(ctx context.Context, g *fonnx.Model) (diarize.Graph, error) { return p.graphs().Graph(ctx, g) })
	if err != nil {
		text := err.Error()
		for _, file := range []string{d.Segmentation, d.Embedding, d.PLDA} {
			if file != "" {
				text = strings.ReplaceAll(text, file, "the file")
			}
		}
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: what tells who speaks: %s", p.n.ID, text).Because(err)
	}
	if why := m.Joined(); why != "" {
		p.log.InfoContext(ctx, "voices are embedded one by one, not once over the sound", "model", p.n.ID, "why", why)
	}
	return m, nil
}

// recogniser loads a recogniser with its detector and its networks of diarization; needs is
// the memory of the recogniser alone, in bytes.
func (p *opening) recogniser(ctx context.Context, needs int64, open func(path string) (transcribe.Recogniser, error)) (residency.Model, error) {
	about := p.n.About()
	for _, file := range []string{p.n.Options.Diarize.Segmentation, p.n.Options.Diarize.Embedding} {
		if file != "" {
			size, err := lm.SizeOf(file)
			if err != nil {
				return nil, engine.Errorf(engine.CodeEngineFailure, "", "model %q cannot be loaded: a file of diarize cannot be read", p.n.ID).Because(err)
			}
			needs += soundMemory * size
		}
	}
	if err := p.load.Room(ctx, needs); err != nil {
		return nil, err
	}
	aids := transcribe.Aids{}
	var err error
	if aids.Detector, err = detectorOf(p.n); err != nil {
		return nil, err
	}
	if aids.Speakers, err = p.speakers(ctx); err != nil {
		return nil, err
	}
	m, err := open(about.Path)
	if err != nil {
		aids.Close()
		return nil, err
	}
	return transcribe.New(p.n.ID, m, aids, about.SizeBytes, residency.Admits(p.n), time.Since(p.start)), nil
}
