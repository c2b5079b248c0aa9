package lm

import (
	"os"

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

// Open opens the weights of a model's file or folder, or of the built-in model.
func Open(path string) (*weights.Set, error) {
	if path == BuiltinPath {
		return gguf.Parse(builtin.GGUF())
	}
	if ggml.Sniff(path) != "" {
		return ggml.Open(path)
	}
	return formats.Open(path)
}

// SizeOf returns the bytes of a file, or of the files directly in a directory.
func SizeOf(path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return st.Size(), err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, d := range entries {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum, nil
}
