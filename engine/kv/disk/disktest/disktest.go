// Package disktest is a file system in memory that fails and stalls as tests want.
package disktest

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"quern/engine/kv/disk"
)

// An FS implements disk.FS.
type FS struct {
	// Before, where it is not nil, is called before each operation, by several goroutines: "open",
	// "create", "update", "write", "rename", "remove", "mkdir" or "readdir". It may wait, and
	// its error is the operation's.
	Before func(op, name string) error

	mu    sync.Mutex
	files map[string][]byte // nil for folders
}

// New makes a file system with one empty folder, named dir.
func New(dir string) *FS { return &FS{files: map[string][]byte{dir: nil}} }

var errNoFile = &fs.PathError{Op: "open", Path: "it", Err: fs.ErrNotExist}

func (x *FS) before(op, name string) error {
	if x.Before == nil {
		return nil
	}
	return x.Before(op, name)
}

// do calls f, which sees the files by slashed names.
func (x *FS) do(op, name string, f func(name string) error) error {
	if err := x.before(op, name); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return f(filepath.ToSlash(name))
}

// Files are the names of all files.
func (x *FS) Files() (names []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, data := range x.files {
		if data != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Change replaces the content of a file by f's result; nil removes it.
func (x *FS) Change(name string, f func([]byte) []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if data := f(bytes.Clone(x.files[name])); data != nil {
		x.files[name] = data
	} else {
		delete(x.files, name)
	}
}

// RemoveAll removes a folder with all that is in it.
func (x *FS) RemoveAll(dir string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.files {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			delete(x.files, name)
		}
	}
}

// Open implements disk.FS.
func (x *FS) Open(name string) (f disk.File, err error) {
	err = x.do("open", name, func(name string) error {
		data := x.files[name]
		if data == nil {
			return errNoFile
		}
		f = &file{x: x, name: name, rest: bytes.NewReader(data)}
		return nil
	})
	return f, err
}

// Create implements disk.FS.
func (x *FS) Create(name string) (f disk.File, err error) {
	err = x.do("create", name, func(name string) error {
		if _, ok := x.files[path.Dir(name)]; !ok {
			return errNoFile
		}
		if _, ok := x.files[name]; ok {
			return fs.ErrExist
		}
		x.files[name] = []byte{}
		f = &file{x: x, name: name}
		return nil
	})
	return f, err
}

// Update implements disk.FS.
func (x *FS) Update(name string) (f disk.File, err error) {
	err = x.do("update", name, func(name string) error {
		if x.files[name] == nil {
			return errNoFile
		}
		f = &file{x: x, name: name}
		return nil
	})
	return f, err
}

// Rename implements disk.FS.
func (x *FS) Rename(from, to string) error {
	return x.do("rename", from, func(from string) error {
		data := x.files[from]
		if data == nil {
			return errNoFile
		}
		delete(x.files, from)
		x.files[filepath.ToSlash(to)] = data
		return nil
	})
}

// Remove implements disk.FS.
func (x *FS) Remove(name string) error {
	return x.do("remove", name, func(name string) error {
		if x.files[name] == nil {
			return errNoFile
		}
		delete(x.files, name)
		return nil
	})
}

// Mkdir implements disk.FS.
func (x *FS) Mkdir(name string) error {
	return x.do("mkdir", name, func(name string) error {
		if _, ok := x.files[name]; ok {
			return fs.ErrExist
		}
		if _, ok := x.files[path.Dir(name)]; !ok {
			return errNoFile
		}
		x.files[name] = nil
		return nil
	})
}

// ReadDir implements disk.FS.
func (x *FS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = x.do("readdir", name, func(dir string) error {
		if _, ok := x.files[dir]; !ok {
			return errNoFile
		}
		for name := range x.files {
			in, at := ".", strings.LastIndexByte(name, '/')
			if at >= 0 {
				in = name[:max(at, 1)]
			}
			if in == dir {
				list = append(list, entry{name: name[at+1:]})
			}
		}
		return nil
	})
	return list, err
}

// An entry has a name, which is all that a Store asks for.
type entry struct {
	fs.DirEntry
	name string
}

// Name implements fs.DirEntry.
func (e entry) Name() string { return e.name }

// A file reads its content as of when it was opened; writes are visible at once.
type file struct {
	x    *FS
	name string
	rest *bytes.Reader
}

// Read implements disk.File.
func (f *file) Read(p []byte) (int, error) { return f.rest.Read(p) }

// Write implements disk.File.
func (f *file) Write(p []byte) (int, error) {
	return len(p), f.x.do("write", f.name, func(name string) error {
		f.x.files[name] = append(f.x.files[name], p...)
		return nil
	})
}

// WriteAt implements disk.File.
func (f *file) WriteAt(p []byte, at int64) (int, error) {
	return len(p), f.x.do("write", f.name, func(name string) error {
		data := bytes.Clone(f.x.files[name])
		if int(at)+len(p) > len(data) {
			return errors.New("disktest: written behind the end")
		}
		copy(data[at:], p)
		f.x.files[name] = data
		return nil
	})
}

// Close implements disk.File.
func (f *file) Close() error { return nil }
