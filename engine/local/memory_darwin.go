package local

import "golang.org/x/sys/unix"

// availableMemory is what the machine has, in bytes.
func availableMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return assumedMemory
	}
	return int64(n)
}
