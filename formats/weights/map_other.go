//go:build !unix && !windows

package weights

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MapFile reads a regular file into memory: this system maps no files.
func MapFile(path string) (*Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "map", Path: path, Err: errNotRegular}
	}
	size := st.Size()
	if size > maxInt {
		return nil, &fs.PathError{Op: "map", Path: path, Err: fmt.Errorf("%d bytes do not fit in memory", size)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return &Mapping{data: data}, nil
}
