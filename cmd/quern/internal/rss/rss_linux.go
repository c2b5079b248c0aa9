// Package rss returns the resident memory of this process.
package rss

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// Peak returns the most memory this process has had resident, 0 when that is
// unknown. It reads VmHWM because getrusage counts what the parent
// had resident before exec.
func Peak() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
