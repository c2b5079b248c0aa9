package weights

import (
	"io/fs"
	"unsafe"

	"golang.org/x/sys/windows"
)

// MapFile maps a regular file. While it is mapped Windows does not delete
// or shorten it.
func MapFile(path string) (*Mapping, error) {
	f, st, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the view keeps the file alive
	size := st.Size()
	if size == 0 {
		return &Mapping{}, nil // an empty file cannot be mapped
	}
	if size > maxInt {
		return nil, &fs.PathError{Op: "map", Path: path, Err: windows.ERROR_FILE_TOO_LARGE}
	}
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY,
		uint32(uint64(size)>>32), uint32(size), nil)
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: path, Err: err}
	}
	defer windows.CloseHandle(h) // the view keeps the mapping alive
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: path, Err: err}
	}
	// The address is no Go memory, so it may become a pointer; going through
	// its own address says so to vet.
	data := unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), int(size))
	return &Mapping{data, unmap}, nil
}

func unmap(data []byte) error {
	return windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}
