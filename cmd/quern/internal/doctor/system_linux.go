package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// volume is the file system that a folder lies on, and how many bytes are free there.
func volume(dir string) (id, free uint64, known bool) {
	var at unix.Stat_t
	var st unix.Statfs_t
	if unix.Stat(dir, &at) != nil || unix.Statfs(dir, &st) != nil {
		return 0, 0, false
	}
	return uint64(at.Dev), st.Bavail * uint64(st.Bsize), true
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
