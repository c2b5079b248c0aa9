// Package formats opens model files of any format. It looks at what a file
// holds, not at its name, and says what a file is that it cannot open.
package formats

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"quern/formats/gguf"
	"quern/formats/safetensors"
	"quern/formats/weights"
)

// Every error for what a file holds wraps one of these. They are the errors of
// package weights under the names of this one.
var (
	ErrFormat      = weights.ErrFormat
	ErrUnsupported = weights.ErrUnsupported
)

// Open opens a model: a file, any file of a split model, or a directory that
// holds one model, such as Hugging Face's with config.json and SafeTensors. Files
// are mapped, so the time it takes does not grow with the weights. The caller
// closes the Set.
func Open(path string) (*weights.Set, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		if path, err = find(path); err != nil {
			return nil, err
		}
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() || strings.HasSuffix(path, ".safetensors.index.json") {
		return safetensors.Open(path)
	}
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	k := sniff(head)
	if k.open == nil {
		return nil, fmt.Errorf("%w: %s is %s", k.err, path, k.what(head))
	}
	return k.open(path)
}

// readHead returns the first bytes of a file.
func readHead(path string) ([]byte, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return head[:n], nil
}

// find returns the model file of a directory, the first one where a model is
// split, or the directory itself where its files are SafeTensors.
func find(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var models []string // one name for each model
	var tensors []string
	var others []string // files that look like models of other formats
	split := make(map[string]bool)
	for _, e := range entries { // sorted, so a split model's first file comes first
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		switch strings.ToLower(filepath.Ext(name)) {
		case ".gguf":
			if prefix, _, count, ok := gguf.ShardName(name); ok {
				key := fmt.Sprint(prefix, count)
				if split[key] {
					continue
				}
				split[key] = true
			}
			models = append(models, name)
		case ".safetensors":
			tensors = append(tensors, name)
		case ".onnx", ".bin", ".pt", ".pth", ".ckpt", ".h5":
			others = append(others, name)
		}
	}
	switch {
	case len(models) == 1:
		return filepath.Join(dir, models[0]), nil
	case len(models) > 1:
		return "", fmt.Errorf("%w: %s holds several models, name one of them: %s", ErrUnsupported, dir, strings.Join(models, ", "))
	case len(tensors) > 0:
		// Such directories often hold the same weights as a pickle too.
		return dir, nil
	case len(others) > 0:
		// Opening one of them finds what it is.
		return filepath.Join(dir, others[0]), nil
	}
	return "", fmt.Errorf("%w: %s holds no model file", ErrFormat, dir)
}
