package local

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/conformer"
	"quern/engine/catalog"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/onnx/serve"
	"quern/engine/residency"
	"quern/engine/tts"
	"quern/formats/ggml"
	"quern/formats/weights"
)

// A kind is a sort of model: how its files are recognised, described and loaded.
type kind struct {
	is       func(path string) bool
	describe describer
	open     opener
	needs    needer
	details  detailer                               // nil: none
	cache    cacher                                 // of models whose cache is known before they are loaded
	voices   func(path string) ([]tts.Voice, error) // of models that speak
	adapts   bool                                   // takes adapters
	use      string                                 // the option of quern's commands that takes such a file; "": any does
}

type (
	describer func(id, path string, o *engine.ModelOptions) (*catalog.About, error)
	opener    func(ctx context.Context, p *opening) (residency.Model, error)
	needer    func(ctx context.Context, e *Engine, n *catalog.Entry) (int64, error) // memory, without loading; an *engine.Error says what does not fit
	cacher    func(ctx context.Context, e *Engine, n *catalog.Entry) (engine.CachePlan, error)
)

// kinds are the sorts of models: the first that recognises a file counts. One without open
// is a part of others.
var kinds = []kind{
	{is: isFormant, describe: sound(engine.KindSpeech, "formant", "built in"), open: openFormant, needs: asFile(0), voices: formantVoices},
	{is: tts.IsKokoro, describe: sound(engine.KindSpeech, "kokoro", "kokoro"), open: openKokoro, needs: asFile(soundMemory), voices: tts.KokoroVoices, use: "quern say --model "},
	{is: isDetector, use: "--vad "},
	{is: conformer.IsModel, describe: describeConformer, open: openConformer, needs: needsConformer, use: "quern transcribe --model "},
	{is: serve.IsWhisper, describe: describeONNX, open: openWhisperONNX, needs: asFile(soundMemory), use: "quern transcribe --model "},
	{is: asr.IsModel, describe: sound(engine.KindTranscription, "whisper", "whisper"), open: openWhisper, needs: asFile(soundMemory), use: "quern transcribe --model "},
	{is: serve.Is, describe: describeONNX, open: openONNX, needs: needsONNX, details: onnxDetails},
	{is: func(string) bool { return true }, describe: describeText, open: openText, needs: needsText, cache: cacheText, details: textDetails, adapts: true},
}

// kindOf returns the kind of a model's file.
func kindOf(path string) *kind {
	return &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.open != nil && k.is(path) })]
}

// recognised returns the kind of any file.
func recognised(path string) *kind {
	return &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.is(path) })]
}

// FileUse says how a file that is no text model is used: an option of quern's
// commands that takes it. "" is for all others.
func FileUse(path string) string {
	if k := recognised(path); k.use != "" {
		return k.use + path
	}
	return ""
}

// formantPath stands for the voice that is part of the program where a file is wanted.
const formantPath = "builtin:" + engine.VoiceName

func isFormant(path string) bool { return path == formantPath }

func formantVoices(string) ([]tts.Voice, error) { return tts.Formant().Voices(), nil }

// isDetector reports whether a file in whisper.cpp's form is a detector of speech,
// which is no model by itself.
func isDetector(path string) bool { return ggml.Sniff(path) == ggml.Silero }

// sound describes models that speak or listen.
func sound(k engine.Kind, arch, format string) describer {
	return func(_, path string, _ *engine.ModelOptions) (*catalog.About, error) {
		size, err := lm.SizeOf(path)
		return &catalog.About{ModelInfo: engine.ModelInfo{Kind: k, Architecture: arch, Format: format, SizeBytes: size}}, err
	}
}

// asFile is for models that need a number of times the size of their files.
func asFile(times int64) needer {
	return func(_ context.Context, _ *Engine, n *catalog.Entry) (int64, error) {
		return times * n.About().SizeBytes, nil
	}
}

// files describes models' files to the catalog.
type files struct{}

// Describe implements catalog.Kinds.
func (files) Describe(id, path string, o engine.ModelOptions) (*catalog.About, error) {
	created, err := lm.Created(path)
	if err != nil {
		return nil, err
	}
	k := kindOf(path)
	if len(o.Adapters) > 0 && !k.adapts {
		return nil, fmt.Errorf("%w: adapters are for text models in GGUF's or Hugging Face's form", weights.ErrUnsupported)
	}
	a, err := k.describe(id, path, &o)
	if err != nil {
		return nil, err
	}
	a.Path, a.Created = path, created
	if k.voices != nil {
		var list []tts.Voice
		list, a.Mute = k.voices(path)
		for _, v := range list {
			a.Voices = append(a.Voices, engine.Voice{Voice: v, Model: id})
		}
	}
	return a, nil
}

// IsFile implements catalog.Kinds. Text models are known by their names, since any file
// might be one.
func (files) IsFile(path string) bool {
	k := recognised(path)
	return k.open != nil && k.use != "" || strings.EqualFold(filepath.Ext(path), ".gguf")
}

// IsFolder implements catalog.Kinds: a model of Hugging Face's form has SafeTensors files
// or ONNX graphs, and no GGUF file.
func (files) IsFolder(path string, entries []fs.DirEntry) bool {
	found := false
	for _, d := range entries {
		switch strings.ToLower(filepath.Ext(d.Name())) {
		case ".safetensors", ".pth":
			found = true
		case ".gguf":
			return false
		}
	}
	return found || serve.Is(path) || conformer.IsModel(path)
}

// An opening is the input of a kind's open.
type opening struct {
	*Engine
	n     *catalog.Entry
	load  *residency.Load
	start time.Time
	file  *weights.Set // of the model's files, once it is open, or nil
}

// How far a load is when its parts end.
const (
	loadStart    = 0.1
	loadFilled   = 0.9
	loadCompiled = 0.95
)

// open loads a model; ctx stops that, and is not needed afterwards.
func (e *Engine) open(ctx context.Context, n *catalog.Entry, l *residency.Load) (residency.Model, error) {
	m, err := kindOf(n.About().Path).open(ctx, &opening{Engine: e, n: n, load: l, start: time.Now()})
	if err != nil {
		return nil, err // not a Model that holds a nil pointer
	}
	e.progress(n, 1)
	return m, nil
}

// callbacks report the progress of uploading the weights to the device, release
// the file's pages of those that were copied, and discard the model when its device fails.
func (p *opening) callbacks() graph.Watch {
	return graph.Watch{
		Placed: func(done, total int64) {
			p.progress(p.n, loadFilled+(loadCompiled-loadFilled)*float64(done)/float64(max(1, total)))
		},
		Copied: func(data []byte) {
			if p.file != nil {
				p.file.Forget(data)
			}
		},
		Lost: func(error) { p.models.Discard(p.n) },
	}
}

// compile prepares a Program of the model. It runs under the engine's context, since the
// request that came first may leave before the weights are placed.
func (p *opening) compile(g *graph.Program) (graph.Exec, error) {
	return p.backend.Compile(p.ctx, g, p.callbacks())
}
