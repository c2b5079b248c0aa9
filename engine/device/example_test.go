package device_test

import (
	"fmt"
	"log"

	"quern/engine/device"
)

func ExampleOpen() {
	backend, name, err := device.Open("cpu", device.Options{Threads: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	fmt.Println(name)
	fmt.Println(device.Check("gpu"))
	// Output:
	// cpu
	// device "gpu" is not known; use auto or cpu, or cuda or cuda:0,1 in a build for CUDA
}
