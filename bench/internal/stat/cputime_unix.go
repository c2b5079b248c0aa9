//go:build unix

package stat

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is what this process has used of the CPUs.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ThreadTime is what this thread has used of a CPU. The goroutine must be locked to it.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
