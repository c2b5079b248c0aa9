//go:build cuda && linux

package local

import (
	"quern/engine/cuda"
	"quern/engine/graph"
	"quern/kernels/cuda/driver"
)

const cudaMissing = ""

// openCUDA opens GPUs beside the processor, which does what they leave.
func openCUDA(numbers []int, o deviceOptions) (graph.Backend, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	host, err := openCPU(nil, o)
	if err != nil {
		return nil, err
	}
	b, err := cuda.Open(cuda.Options{Driver: d, Devices: numbers, Layers: o.layers, Host: host, Log: o.log})
	if err != nil {
		host.Close()
		return nil, err
	}
	return b, nil
}
