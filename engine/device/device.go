// Package device opens the device of models: the processor, or GPUs beside it.
package device

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"quern/engine"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/kernels/threads"
)

// Options say how to open a device.
type Options struct {
	Threads int  // of the processor; 0: physical cores
	Layers  *int // how many layers, the last ones, run on GPUs; nil: all
	// InFileOrder switches repacking off; see cpu.Backend.
	InFileOrder bool
	Log         *slog.Logger
}

// A device is one way to run Programs.
type device struct {
	open func(numbers []int, o Options) (graph.Backend, error)
	auto bool // "auto" may choose it, if it opens
	many bool // its name may be followed by numbers: "cuda:0,1"
	// missing says why this build does not have it, "" where it does.
	missing string
}

// devices is every device by name, best first.
var devices = []struct {
	name string
	device
}{
	{"cuda", device{open: openCUDA, auto: cudaMissing == "", many: true, missing: cudaMissing}},
	{"cpu", device{open: openCPU, auto: true}},
}

func openCPU(_ []int, o Options) (graph.Backend, error) {
	if o.Threads <= 0 {
		o.Threads = threads.Cores()
	}
	b := cpu.Open(o.Threads)
	if o.InFileOrder {
		b.InFileOrder()
	}
	return b, nil
}

// findDevice returns the places in the table that a name stands for, the one to
// try first in front, and the numbers behind the name.
func findDevice(name string) (places, numbers []int, err error) {
	bare, list, numbered := strings.Cut(name, ":")
	for i, d := range devices {
		if name == "" || name == "auto" {
			if d.auto {
				places = append(places, i)
			}
			continue
		}
		if bare != d.name || numbered && !d.many {
			continue
		}
		if d.missing != "" {
			return nil, nil, engine.Errorf(engine.CodeInvalidValue, "device", "%s; use device auto or cpu", d.missing)
		}
		places = append(places, i)
	}
	if len(places) == 0 {
		return nil, nil, engine.Errorf(engine.CodeInvalidValue, "device", "device %q is not known; use auto or cpu, or cuda or cuda:0,1 in a build for CUDA", name)
	}
	if !numbered {
		return places, nil, nil
	}
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(s, 10, 10)
		if err != nil {
			return nil, nil, engine.Errorf(engine.CodeInvalidValue, "device", "device %q: %q is no number of a device", name, s)
		}
		if slices.Contains(numbers, int(n)) {
			return nil, nil, engine.Errorf(engine.CodeInvalidValue, "device", "device %q names %d twice", name, n)
		}
		numbers = append(numbers, int(n))
	}
	return places, numbers, nil
}

// Open opens the device of that name, and for "auto" the best one that
// opens. The errors of better ones are logged.
func Open(name string, o Options) (graph.Backend, string, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	places, numbers, err := findDevice(name)
	if err != nil {
		return nil, "", err
	}
	for _, i := range places {
		d := devices[i]
		b, opened := d.open(numbers, o)
		if opened == nil {
			return b, d.name, nil
		}
		if len(places) == 1 {
			return nil, "", fmt.Errorf("device %s: %w", d.name, opened)
		}
		o.Log.Warn("device not used", "device", d.name, "err", opened)
		err = opened
	}
	return nil, "", err
}

// Check returns an error if a device's name is wrong, before anything is
// loaded.
func Check(name string) error {
	_, _, err := findDevice(name)
	return err
}
