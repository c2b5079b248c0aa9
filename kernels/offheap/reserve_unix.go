//go:build unix

package offheap

import "golang.org/x/sys/unix"

// Reserve returns n zeroed bytes outside the Go heap, aligned to a page, in huge pages
// where the system has them. A page takes memory once it is written. free unmaps the
// bytes, which must not be used afterwards. Systems without mmap use the Go heap, where
// free does nothing.
func Reserve(n int) (data []byte, free func() error, err error) {
	data, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	adviseHuge(data)
	take(n)
	return data, func() error {
		take(-n)
		return unix.Munmap(data)
	}, nil
}
