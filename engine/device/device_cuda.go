//go:build cuda && linux

package device

import (
	"quern/engine/cuda"
	"quern/engine/graph"
	"quern/kernels/cuda/driver"
)

const cudaMissing = ""

// openCUDA opens GPUs beside the processor, which does what they leave.
func openCUDA(numbers []int, o Options) (graph.Backend, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	host, err := openCPU(nil, o)
	if err != nil {
		return nil, err
	}
	b, err := cuda.Open(cuda.Options{Driver: d, Devices: numbers, Layers: gpuLayers(o.Layers), Host: host, Log: o.Log})
	if err != nil {
		host.Close()
		return nil, err
	}
	return b, nil
}

// gpuLayers is Options.Layers as package cuda has it: n, below 0 for all.
func gpuLayers(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}
