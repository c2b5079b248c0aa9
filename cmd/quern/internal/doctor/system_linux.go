package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// space is how many bytes are free in a folder.
func space(dir string) (free uint64, known bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}

// forget has the system read a file from the disk again.
func forget(f *os.File) { unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// OpenFiles is how many files this process may open, 0 when that is not known.
func OpenFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Max // to which Go raises it
}
