//go:build unix && !aix && !solaris

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock locks an open file. It does not wait: ErrLocked.
func Lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			return ErrLocked
		}
		return err
	}
}
