package driver_test

import (
	"fmt"
	"log"

	"quern/kernels/cuda/driver"
)

// The fake stands in for a GPU where a test has none.
func ExampleFake() {
	ctx, err := driver.NewFake(1, 1<<20).Open(0)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	p, err := ctx.Alloc(4096)
	if err != nil {
		log.Fatal(err)
	}
	free, total, err := ctx.Memory()
	fmt.Println(total-free, err)
	fmt.Println(ctx.Free(p))
	// Output:
	// 4096 <nil>
	// <nil>
}
