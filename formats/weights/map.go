package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"
)

// A Mapping is a file's bytes, mapped read-only where the system can and read
// into memory where it cannot. Writing to them faults.
//
// A mapped file must keep its length: where another process cuts it short,
// reading past the new end raises SIGBUS. It ends the process but for goroutines
// that called debug.SetPanicOnFault, as those do that load, compute and describe models.
// Replace model files by renaming a new one into place, never by writing over
// the old.
type Mapping struct {
	data  []byte
	unmap func([]byte) error
}

// Bytes returns the whole file. The slice is invalid after Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Forget advises the system that data, a part of the file, is not read soon: its pages are
// released, and read from the file again if it is. Bytes that are none of the file's are
// left alone.
func (m *Mapping) Forget(data []byte) {
	if len(data) == 0 || len(m.data) == 0 || m.unmap == nil {
		return
	}
	from := uintptr(unsafe.Pointer(&data[0])) - uintptr(unsafe.Pointer(&m.data[0]))
	if from >= uintptr(len(m.data)) || uintptr(len(data)) > uintptr(len(m.data))-from {
		return
	}
	// Whole pages only: others lie in them too.
	page := uintptr(os.Getpagesize())
	first, end := (from+page-1)/page*page, (from+uintptr(len(data)))/page*page
	if first < end {
		forget(m.data[first:end])
	}
}

// Close unmaps the file. A second Close does nothing.
func (m *Mapping) Close() error {
	data := m.data
	m.data = nil
	if len(data) == 0 || m.unmap == nil {
		return nil
	}
	return m.unmap(data)
}

// Mappings are the files of one model.
type Mappings []*Mapping

// Map maps one more and returns its bytes.
func (m *Mappings) Map(path string) ([]byte, error) {
	file, err := MapFile(path)
	if err != nil {
		return nil, err
	}
	*m = append(*m, file)
	return file.data, nil
}

// Forget is Mapping.Forget of the file that has the data.
func (m Mappings) Forget(data []byte) {
	for _, file := range m {
		file.Forget(data)
	}
}

// Close closes all.
func (m Mappings) Close() error {
	var errs []error
	for _, file := range m {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// Mapped makes a Set of files that make maps, and closes them with it, or where make fails.
func Mapped(make func(files *Mappings) (*Set, error)) (*Set, error) {
	var files Mappings
	set, err := make(&files)
	if err != nil {
		files.Close() // the first error is the one to know
		return nil, err
	}
	for _, m := range files {
		set.Keep(m)
	}
	return set, nil
}

// MapParsed maps a file and makes a Set of its bytes.
func MapParsed(path string, parse func(data []byte) (*Set, error)) (*Set, error) {
	return Mapped(func(files *Mappings) (*Set, error) {
		data, err := files.Map(path)
		if err != nil {
			return nil, err
		}
		set, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return set, nil
	})
}

const maxInt = int64(^uint(0) >> 1)

// Open opens a file. What is neither a file nor a folder is refused: opening a named pipe
// blocks until a process opens it for writing.
func Open(path string) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return os.Open(path)
}

// openRegular opens a file that can be mapped.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "map", Path: path, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

var errNotRegular = errors.New("not a regular file")
