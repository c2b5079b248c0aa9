package cuda_test

import (
	"fmt"
	"log"

	"quern/engine/cpu"
	"quern/engine/cuda"
	"quern/kernels/cuda/driver"
)

// A GPU's driver is driver.Open's, in a build for CUDA; this one is a fake. What the GPU has
// no kernels for runs on the host.
func ExampleOpen() {
	b, err := cuda.Open(cuda.Options{Driver: driver.NewFake(1, 1<<30), Layers: cuda.AllLayers, Host: cpu.Open(1)})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	fmt.Println(b.Memory())
	// Output:
	// 1073741824
}
