//go:build unix

package stat

import (
	"syscall"
	"time"
)

// CPUTime is what this process has used of the CPUs.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
