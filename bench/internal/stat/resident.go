package stat

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Memory is what a process has resident, in bytes: now, at most so far, and now without the pages of
// files.
type Memory struct{ Now, Peak, Anonymous int64 }

// MemoryOf returns the memory of a process, on Linux.
func MemoryOf(pid int) (m Memory, err error) {
	if runtime.GOOS != "linux" {
		return m, fmt.Errorf("memory of a process: %w", errors.ErrUnsupported)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	fields := map[string]*int64{"VmRSS": &m.Now, "VmHWM": &m.Peak, "RssAnon": &m.Anonymous}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if to := fields[name]; to != nil {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return m, err
			}
			*to = kb << 10
		}
	}
	if m.Now == 0 {
		return m, fmt.Errorf("process %d has no VmRSS", pid)
	}
	return m, nil
}

// Resident returns the memory of this process in MB, now and at most; 0 where that is unknown.
func Resident() (now, peak float64) {
	m, err := MemoryOf(os.Getpid())
	if err != nil {
		return 0, 0
	}
	return float64(m.Now) / 1e6, float64(m.Peak) / 1e6
}
