package local

import (
	"quern/engine/asr"
	"quern/formats/ggml"
)

// openDetector reads a detector of speech, Silero's. Of path "" it is nil, which
// recognition takes for the built-in one.
func openDetector(path string) (asr.Detector, error) {
	if path == "" {
		return nil, nil
	}
	d, err := asr.OpenSilero(path)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// CheckDetector reports why a file cannot be ModelOptions.Detector.
func CheckDetector(path string) error {
	_, err := openDetector(path)
	return err
}

// isDetector reports whether a file in whisper.cpp's form is a detector of speech,
// which is no model by itself.
func isDetector(path string) bool { return ggml.Sniff(path) == ggml.Silero }
