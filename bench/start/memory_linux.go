package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forget has the system drop what it has of a file from memory.
func forget(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// memory returns what a process has resident, and that without pages of files, in MB.
func memory(pid int) (resident, unfile float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kB float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kB); err == nil {
			resident = kB * 1024 / 1e6
		}
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kB); err == nil {
			unfile = kB * 1024 / 1e6
		}
	}
	return resident, unfile, nil
}
