package onnx

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// maxFiles bounds how many files of external data a model names.
const maxFiles = 4096

// external returns size bytes of a file next to the model. Each file is read or
// mapped once however many tensors point into it, so hostile offsets cost
// nothing.
//
// ONNX, docs/ExternalData.md.
func (r *reader) external(entry map[string]string, size int) ([]byte, error) {
	name := strings.TrimPrefix(filepath.ToSlash(entry["location"]), "./")
	if !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("%w: external data at %.100q, want a relative path below the model's directory", ErrFormat, entry["location"])
	}
	if r.load == nil {
		return nil, fmt.Errorf("%w: external data in %.100q, but no directory to find it in", ErrUnsupported, name)
	}
	data, ok := r.files[name]
	if !ok {
		if len(r.files) == maxFiles {
			return nil, fmt.Errorf("%w: more than %d files of external data", ErrUnsupported, maxFiles)
		}
		var err error
		if data, err = r.load(name); err != nil {
			return nil, err
		}
		r.files[name] = data
	}
	number := func(key string, missing uint64) (uint64, error) {
		if entry[key] == "" {
			return missing, nil
		}
		n, err := strconv.ParseUint(entry[key], 10, 63)
		if err != nil {
			return 0, fmt.Errorf("%w: %s of external data is %.100q", ErrFormat, key, entry[key])
		}
		return n, nil
	}
	offset, err := number("offset", 0)
	if err != nil {
		return nil, err
	}
	length, err := number("length", uint64(size))
	if err != nil {
		return nil, err
	}
	if offset > uint64(len(data)) || length > uint64(len(data))-offset {
		return nil, fmt.Errorf("%w: %d bytes at %d of %q, which has %d", ErrFormat, length, offset, name, len(data))
	}
	return data[offset : offset+length : offset+length], nil
}

// Open reads the model at path and maps it and its external data, which must
// lie in its directory or below, also after symbolic links are followed. Close
// the Model when no tensor of it is used any more.
func Open(path string) (*Model, error) {
	m, err := weights.MapFile(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		m.Close()
		return nil, err
	}
	defer root.Close()
	maps := []*weights.Mapping{m}
	model, err := parse(m.Bytes(), func(name string) ([]byte, error) {
		if _, err := root.Stat(filepath.FromSlash(name)); err != nil {
			return nil, err
		}
		m, err := weights.MapFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		maps = append(maps, m)
		return m.Bytes(), nil
	})
	if err != nil {
		for _, m := range maps {
			m.Close()
		}
		return nil, err
	}
	model.maps = maps
	return model, nil
}

// Forget advises the system that data, of a file that Open mapped, is not read soon, as
// weights.Mapping's Forget does.
func (m *Model) Forget(data []byte) {
	for _, mp := range m.maps {
		mp.Forget(data)
	}
}

// Close unmaps what Open mapped. It does nothing after Parse.
func (m *Model) Close() error {
	var first error
	for _, mp := range m.maps {
		if err := mp.Close(); first == nil {
			first = err
		}
	}
	m.maps = nil
	return first
}
