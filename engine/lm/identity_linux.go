package lm

import (
	"fmt"
	"io/fs"
	"syscall"
)

// changes are the file itself and when it was last changed in any way, which no program can
// set.
func changes(st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec)
}
