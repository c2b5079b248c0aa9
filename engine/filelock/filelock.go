// Package filelock keeps two processes from using the same files. The system drops a lock
// with the process that has it, and when the file is closed.
package filelock

import "errors"

// ErrLocked says that another process has the lock.
var ErrLocked = errors.New("locked")
