//go:build unix

package offheap

import "golang.org/x/sys/unix"

// Reserve takes n zeroed bytes outside the Go heap, in huge pages where the
// system has them: aligned to a page, and costing nothing until they are
// written. The collector lets a heap grow in proportion to what lives in it;
// caches, weights and planes of hundreds of megabytes are better kept apart from
// it. free gives the memory back; nothing of it may be used from then on. Where
// the system has no such memory the heap serves, and free does nothing.
func Reserve(n int) (data []byte, free func() error, err error) {
	data, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	adviseHuge(data)
	return data, func() error { return unix.Munmap(data) }, nil
}
