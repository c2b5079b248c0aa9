package engine

import (
	"fmt"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/kernels"
)

// A device is one way to run Programs.
type device struct {
	open func(threads int) (graph.Backend, error)
	auto bool // "auto" may choose it
}

// devices is every device by name, best first.
var devices = []struct {
	name string
	device
}{
	{"cpu", device{open: func(threads int) (graph.Backend, error) { return cpu.Open(threads), nil }, auto: true}},
}

// openDevice opens the named device, or for "auto" and "" the best one there is.
func openDevice(name string, threads int) (graph.Backend, string, error) {
	if threads <= 0 {
		threads = kernels.Cores()
	}
	for _, d := range devices {
		if name == d.name || d.auto && (name == "" || name == "auto") {
			b, err := d.open(threads)
			return b, d.name, err
		}
	}
	if name == "cuda" {
		return nil, "", errorf(CodeInvalidValue, "device", "this build of quern has no CUDA support; use device auto or cpu")
	}
	return nil, "", errorf(CodeInvalidValue, "device", "device %q is not known; use auto or cpu", name)
}

// CheckDevice reports what is wrong with a device's name, before anything is
// loaded.
func CheckDevice(name string) error {
	if name == "" || name == "auto" {
		return nil
	}
	for _, d := range devices {
		if d.name == name {
			return nil
		}
	}
	_, _, err := openDevice(name, 1)
	return fmt.Errorf("%w", err)
}
