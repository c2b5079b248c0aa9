package stat

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MostLoad is the load average above which a machine is busy with other things. Workers wait for
// the slowest among them, so one thread of another program is enough to spoil a run.
const MostLoad = 0.5

// Load is the load average of the last minute, -1 where the system does not say.
func Load() float64 {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		one, _, _ := strings.Cut(string(text), " ")
		if n, err := strconv.ParseFloat(one, 64); err == nil {
			return n
		}
	}
	return -1
}

// Stamp is what is written beside numbers that were measured from a load on.
func Stamp(load float64) string {
	switch {
	case load < 0:
		return "Load average before: not known"
	case load > MostLoad:
		return fmt.Sprintf("Load average before: %.2f — the machine was busy, so these numbers do not count", load)
	}
	return fmt.Sprintf("Load average before: %.2f", load)
}
