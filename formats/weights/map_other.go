//go:build !unix && !windows

package weights

import (
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"time"
	"unsafe"
	"weak"
)

// mostRead is the largest file that is read: WebAssembly addresses 4 GiB, of which the
// program needs some.
func mostRead() int64 {
	if runtime.GOARCH == "wasm" {
		return 3 << 30
	}
	return maxInt
}

// A whole names a file as it was read.
type whole struct {
	path string
	size int64
	time time.Time
}

// inMemory finds the bytes of files that were read and are still in memory: a file is
// described, then loaded, and would be there twice.
var inMemory struct {
	sync.Mutex
	files map[whole]weak.Pointer[byte]
}

// MapFile reads a regular file into memory: this system maps no files.
func MapFile(path string) (*Mapping, error) {
	f, st, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := st.Size()
	if most := mostRead(); size > most {
		return nil, &fs.PathError{Op: "map", Path: path, Err: fmt.Errorf("%w: %d MiB do not fit in memory, where %d MiB do; take a smaller model, or the same with fewer bits a weight (Q4_K_M takes half of Q8_0)", ErrUnsupported, size>>20, most>>20)}
	}
	if size == 0 {
		return &Mapping{}, nil
	}
	key := whole{path, size, st.ModTime()}
	inMemory.Lock()
	defer inMemory.Unlock()
	if first := inMemory.files[key].Value(); first != nil {
		return &Mapping{data: unsafe.Slice(first, size)}, nil
	}
	data := make([]byte, size)
	if err := fill(f, data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	for k, p := range inMemory.files {
		if p.Value() == nil {
			delete(inMemory.files, k)
		}
	}
	if inMemory.files == nil {
		inMemory.files = map[whole]weak.Pointer[byte]{}
	}
	inMemory.files[key] = weak.Make(&data[0])
	return &Mapping{data: data}, nil
}

// fill reads data in pieces: JavaScript holds a copy of each for a moment.
func fill(r io.Reader, data []byte) error {
	const piece = 4 << 20
	for len(data) > 0 {
		n, err := io.ReadFull(r, data[:min(piece, len(data))])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
