//go:build unix

package token_test

import (
	"syscall"
	"time"
)

// cputime returns the processor time this process has used.
func cputime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
