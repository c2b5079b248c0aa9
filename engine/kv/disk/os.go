package disk

import (
	"io/fs"
	"os"
)

// OS is the files of the operating system. Prompts can be recovered from keys and values, so other
// users may not read them.
type OS struct{}

// Open implements FS.
func (OS) Open(name string) (File, error) { return file(os.Open(name)) }

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return file(os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600))
}

// Update implements FS.
func (OS) Update(name string) (File, error) { return file(os.OpenFile(name, os.O_WRONLY, 0)) }

// file returns a nil File for a nil *os.File.
func file(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// Mkdir implements FS.
func (OS) Mkdir(name string) error { return os.Mkdir(name, 0o700) }

// ReadDir implements FS.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
