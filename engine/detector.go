package engine

import (
	"encoding/binary"
	"io"
	"os"

	"quern/engine/asr"
	"quern/formats"
	"quern/formats/ggml"
)

// openDetector reads a detector of speech: Silero's, in whisper.cpp's form or as
// SafeTensors. Of path "" it is nil, which recognition takes for the built-in one.
func openDetector(path string) (asr.Detector, error) {
	if path == "" {
		return nil, nil
	}
	open := formats.Open
	if isGGML(path) {
		open = ggml.Open
	}
	set, err := open(path)
	if err != nil {
		return nil, err
	}
	defer set.Close() // what is needed is copied
	d, err := asr.NewSilero(set)
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

// ggmlHead returns the first two words of a file in the form of whisper.cpp.
func ggmlHead(path string) (magic string, first uint32) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0
	}
	defer f.Close()
	var head [8]byte
	n, _ := io.ReadFull(f, head[:]) // a short file has no magic, or a first word of 0
	return string(head[:min(n, len(ggml.Magic))]), binary.LittleEndian.Uint32(head[4:])
}

func isGGML(path string) bool {
	magic, _ := ggmlHead(path)
	return magic == ggml.Magic
}

// isDetector reports whether a file in whisper.cpp's form is a detector of speech,
// which is no model by itself: it goes on with its name, not with the size of a
// vocabulary.
func isDetector(path string) bool {
	magic, first := ggmlHead(path)
	return magic == ggml.Magic && first == uint32(len(ggml.Silero))
}
