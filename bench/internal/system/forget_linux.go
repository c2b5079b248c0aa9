package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// Forget has the system drop what it has of a file from memory. It reports whether it can.
func Forget(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return true, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return true, err
	}
	return true, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
