package engine

import (
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

// findDevice returns the place of the named device in the table, or for "auto"
// and "" of the best one there is.
func findDevice(name string) (int, error) {
	for i, d := range devices {
		if name == d.name || d.auto && (name == "" || name == "auto") {
			return i, nil
		}
	}
	if name == "cuda" {
		return 0, errorf(CodeInvalidValue, "device", "this build of quern has no CUDA support; use device auto or cpu")
	}
	return 0, errorf(CodeInvalidValue, "device", "device %q is not known; use auto or cpu", name)
}

func openDevice(name string, threads int) (graph.Backend, string, error) {
	i, err := findDevice(name)
	if err != nil {
		return nil, "", err
	}
	if threads <= 0 {
		threads = kernels.Cores()
	}
	b, err := devices[i].open(threads)
	return b, devices[i].name, err
}

// CheckDevice reports what is wrong with a device's name, before anything is
// loaded.
func CheckDevice(name string) error {
	_, err := findDevice(name)
	return err
}
