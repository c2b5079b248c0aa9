package local

import (
	"quern/engine"
	"quern/engine/builtin"
	"quern/formats"
	"quern/formats/ggml"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// BuiltinName is the name of the built-in model.
const BuiltinName = builtin.Name

// BuiltinPath stands for the built-in model where a file is wanted.
const BuiltinPath = "builtin:" + builtin.Name

// OpenFile opens the weights of a model's file or folder, or of the built-in model.
func OpenFile(path string) (*weights.Set, error) {
	if path == BuiltinPath {
		return gguf.Parse(builtin.GGUF())
	}
	if ggml.Sniff(path) != "" {
		return ggml.Open(path)
	}
	return formats.Open(path)
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
