package engine

import "golang.org/x/sys/unix"

// totalMemory is what the machine has, in bytes.
func totalMemory() int64 {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return assumedMemory
	}
	return int64(s.Totalram) * int64(s.Unit)
}
