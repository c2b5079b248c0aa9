package cpu

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"quern/kernels/cgroup"
)

// Available is the memory of the machine, or of a container's limit, that is not in
// use, in bytes. Cached files count as free: the weights
// of a model are such.
func Available() int64 {
	n := int64(assumedMemory)
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) == nil {
		n = int64(s.Totalram) * int64(s.Unit)
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if free, ok := meminfo(string(text), "MemAvailable"); ok {
			n = min(n, free)
		}
	}
	if limit, limited := cgroup.Memory(os.DirFS("/")); limited {
		n = min(n, limit)
	}
	return n
}

// meminfo finds a line of /proc/meminfo: "KEY:   N kB".
func meminfo(text, key string) (bytes int64, ok bool) {
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, key+":")
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 50)
		return n << 10, err == nil && n > 0
	}
	return 0, false
}
