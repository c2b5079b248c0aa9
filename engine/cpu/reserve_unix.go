//go:build unix

package cpu

import "golang.org/x/sys/unix"

// reserve takes zeroed memory outside the Go heap, in huge pages where the
// system has them. Pages cost nothing until they are written.
func reserve(n int) (data []byte, free func() error, err error) {
	data, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	adviseHuge(data)
	return data, func() error { return unix.Munmap(data) }, nil
}
