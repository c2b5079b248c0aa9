package local

import (
	"context"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/lm"
	"quern/engine/tts"
)

// A loaded is a model in memory, of whatever kind.
type loaded interface {
	name() string
	bytes() int64      // memory it occupies
	cacheBytes() int64 // of it, keys and values
	print() string     // what makes its answers repeatable, hashed; may be ""
	stats(n *entry) engine.ModelStats
	close()
}

// families are the kinds of model files beside text models, with how they are
// recognised and opened.
var families = []struct {
	kind engine.Kind
	arch string
	is   func(path string) bool
}{
	{engine.KindSpeech, "kokoro", tts.IsKokoro},
	{engine.KindTranscription, "whisper", asr.IsModel},
	{"", formatONNX, isONNX}, // its files tell the rest
}

// openers make models of each kind resident; kinds that are not listed are text.
var openers = map[engine.Kind]func(*Engine, context.Context, *entry) (loaded, error){
	engine.KindSpeech:        (*Engine).openSpeech,
	engine.KindTranscription: (*Engine).openHearing,
}

// openModel loads a model; ctx stops that, and is not needed afterwards.
func (e *Engine) openModel(ctx context.Context, n *entry) (loaded, error) {
	if open := openers[n.head.kind]; open != nil {
		return open(e, ctx, n)
	}
	if n.head.format == formatONNX {
		return e.openONNX(ctx, n)
	}
	m, err := e.openText(ctx, n)
	if err != nil {
		return nil, err // not a loaded that holds a nil pointer
	}
	return m, nil
}

// familyEntry describes a model that is not a text model, or returns false.
func familyEntry(n *entry) (bool, error) {
	for _, f := range families {
		if !f.is(n.path) {
			continue
		}
		size, err := lm.SizeOf(n.path)
		if err != nil {
			return true, err
		}
		n.size = size
		n.head = header{kind: f.kind, arch: f.arch, format: f.arch}
		switch {
		case f.arch == formatONNX:
			err = n.describeONNX()
		case f.kind == engine.KindSpeech:
			n.head.voices, n.head.mute = tts.KokoroVoices(n.path)
		}
		return true, err
	}
	return false, nil
}

// FileUse says how a file that is no text model is used: an option of quern's
// commands that takes it. "" is for all others.
func FileUse(path string) string {
	if isDetector(path) {
		return "--vad " + path
	}
	for _, f := range families {
		if f.kind != "" && f.is(path) {
			return fileUses[f.kind] + path
		}
	}
	return ""
}

var fileUses = map[engine.Kind]string{
	engine.KindSpeech:        "quern say --model ",
	engine.KindTranscription: "quern transcribe --model ",
}
