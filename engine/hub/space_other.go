//go:build !linux && !darwin && !freebsd && !windows

package hub

// freeSpace is not known here.
func freeSpace(string) int64 { return -1 }
