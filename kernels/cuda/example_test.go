package cuda_test

import (
	"fmt"

	"quern/kernels/cuda"
	"quern/kernels/quant"
)

// The kernel for products of one row with weights of a type.
func ExampleFind() {
	k := cuda.Find(cuda.GEMVName(quant.Q4_K, 1))
	fmt.Println(k.Name, k.Threads, k.Grid(cuda.Dims{Out: 4096, Rows: 1, Blocks: 100}))
	// Output:
	// gemv_q4_k_1 128 [512 1 1]
}
