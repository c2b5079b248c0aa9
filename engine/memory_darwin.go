package engine

import "golang.org/x/sys/unix"

// totalMemory is what the machine has, in bytes.
func totalMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return assumedMemory
	}
	return int64(n)
}
