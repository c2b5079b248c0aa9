//go:build unix

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of huge pages where systems have one: on amd64, and on arm64 with pages of 4 KB.
const hugePage = 2 << 20

// Reserve returns n zeroed bytes outside the Go heap, aligned to a page, in huge pages
// where the system has them and n is that large, but for what is left at the end. A page takes
// memory once it is written. free unmaps the bytes, which must not be used afterwards. Systems
// without mmap use the Go heap, where free does nothing.
func Reserve(n int) (data []byte, free func() error, err error) {
	size, large := n, n >= hugePage
	if large { // to begin at a multiple of one; pages that are not written take no memory
		size += hugePage
	}
	mapped, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	data = mapped[:n:n]
	if large {
		skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mapped))) % hugePage)
		data = mapped[skip:][:n:n]
		adviseHuge(data[:n/hugePage*hugePage])
	}
	take(n)
	return data, func() error {
		take(-n)
		return unix.Munmap(mapped)
	}, nil
}
