package threads

import "runtime"

// Cores returns the number of physical cores this process may use: hyper-
// threads share the units kernels keep busy, so a second one per core only
// adds barriers. Where the topology cannot be read it is the number of CPUs.
func Cores() int {
	n := runtime.NumCPU()
	if p := physicalCores(); p > 0 && p < n {
		return p
	}
	return n
}
