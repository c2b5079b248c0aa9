package cpu

import "golang.org/x/sys/unix"

// Available is the memory of the machine, in bytes.
func Available() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return assumedMemory
	}
	return int64(n)
}
