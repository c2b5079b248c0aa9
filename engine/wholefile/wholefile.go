// Package wholefile writes files that are there whole or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write makes a file that appears under its name when it is whole: write fills
// another one beside it, which takes its place at the end and is removed when
// something fails. What is no regular file, as a device or a pipe, is written to
// directly. Errors name path.
func Write(path string, write func(f *os.File) error) error {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	st, err := os.Stat(target)
	switch {
	case err == nil && st.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !st.Mode().IsRegular():
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return named(path, errors.Join(write(f), f.Close()))
	}
	f, err := unfinished(target)
	if err != nil {
		return named(path, err)
	}
	part := f.Name()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	// A close without an error is part of a write that went well.
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part, target)
	}
	if err != nil {
		_ = os.Remove(part) // the first error is returned
		return named(path, err)
	}
	return nil
}

// unfinished makes the file that becomes target. What a process that was killed left does not stand in
// its way, also not in a container, where all have one number.
func unfinished(target string) (f *os.File, err error) {
	const tries = 100
	for range tries {
		f, err = os.OpenFile(fmt.Sprintf("%s.%08x.part", target, rand.Uint32()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// named says path where the system names the file that is filled in its place.
func named(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	return err
}
