package stat

import (
	"os"
	"strconv"
	"strings"
)

// Resident returns the memory of this process in MB, now and at most.
func Resident() (now, peak float64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0 // not Linux
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		switch name {
		case "VmRSS":
			now = kb * 1024 / 1e6
		case "VmHWM":
			peak = kb * 1024 / 1e6
		}
	}
	return now, peak
}
