package threads

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// physicalCores counts the sets of hyper-threads among the CPUs this process
// may run on; 0 when that is unknown.
func physicalCores() int {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		return 0
	}
	cores := map[string]bool{}
	for cpu, left := 0, mask.Count(); left > 0 && cpu < 8*len(mask)*8; cpu++ {
		if !mask.IsSet(cpu) {
			continue
		}
		left--
		b, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		if err != nil {
			return 0
		}
		cores[strings.TrimSpace(string(b))] = true
	}
	return len(cores)
}
