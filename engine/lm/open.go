package lm

import (
	"os"
	"strings"
	"time"

	"quern/engine/builtin"
	"quern/formats"
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
	return formats.Open(path)
}

// SizeOf returns the bytes of a file, or of the files directly in a directory. A built-in
// model has none.
func SizeOf(path string) (int64, error) {
	if builtIn(path) {
		return 0, nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !st.IsDir() {
		return st.Size(), nil
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

// Created is when a file was written; the zero time for a built-in model.
func Created(path string) (time.Time, error) {
	if builtIn(path) {
		return time.Time{}, nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return st.ModTime(), nil
}

func builtIn(path string) bool { return strings.HasPrefix(path, "builtin:") }
