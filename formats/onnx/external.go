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
func Open(path string) (model *Model, err error) {
	var maps weights.Mappings
	defer func() {
		if err != nil {
			maps.Close()
		}
	}()
	data, err := maps.Map(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	model, err = parse(data, func(name string) ([]byte, error) {
		name = filepath.FromSlash(name)
		if _, err := root.Stat(name); err != nil {
			return nil, err
		}
		return maps.Map(filepath.Join(dir, name))
	})
	if err != nil {
		return nil, err
	}
	model.maps = maps
	return model, nil
}

// Forget advises the system that data, of a file that Open mapped, is not read soon, as
// weights.Mapping's Forget does.
func (m *Model) Forget(data []byte) { m.maps.Forget(data) }

// Close unmaps what Open mapped. It does nothing after Parse.
func (m *Model) Close() error { return m.maps.Close() }
