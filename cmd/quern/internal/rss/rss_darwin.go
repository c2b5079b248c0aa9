package rss

import "syscall"

// Peak returns the most memory this process has had resident, 0 when that is
// unknown.
func Peak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss // bytes here, unlike elsewhere
}
