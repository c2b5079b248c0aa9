//go:build linux || darwin || freebsd

// Package diskspace returns the free space of a disk.
package diskspace

import "golang.org/x/sys/unix"

// Free returns the bytes a user may still write to the disk of dir, −1 when
// unknown.
func Free(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return -1
	}
	// The fields' types differ from system to system.
	blocks, size := uint64(max(st.Bavail, 0)), uint64(max(st.Bsize, 0))
	if size != 0 && blocks > uint64(1<<62)/size {
		return 1 << 62
	}
	return int64(blocks * size)
}
