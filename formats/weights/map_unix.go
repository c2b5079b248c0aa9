//go:build unix

package weights

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// MapFile maps a regular file.
func MapFile(path string) (*Mapping, error) {
	f, st, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping keeps the file alive
	size := st.Size()
	if size == 0 {
		return &Mapping{}, nil // mmap refuses a length of zero
	}
	if size > maxInt {
		return nil, &fs.PathError{Op: "map", Path: path, Err: syscall.EFBIG}
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: path, Err: err}
	}
	advise(data)
	return &Mapping{data, unix.Munmap}, nil
}
