// Package stat holds what several benchmarks do with their numbers.
package stat

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Values returns one quantity of all runs in ascending order.
func Values[T any](runs []T, of func(T) float64) []float64 {
	var out []float64
	for _, m := range runs {
		out = append(out, of(m))
	}
	slices.Sort(out)
	return out
}

// Median takes sorted numbers.
func Median(v []float64) float64 { return (v[(len(v)-1)/2] + v[len(v)/2]) / 2 }

// RSS returns the resident memory of a process in bytes, on Linux.
func RSS(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}
