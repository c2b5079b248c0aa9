package attention_test

import (
	"fmt"

	"quern/kernels/attention"
	"quern/kernels/threads"
)

// A query like the first of two keys takes its value.
func ExampleDenseAttention() {
	p := threads.NewPool(1)
	defer p.Close()
	const dim = 4
	a := attention.NewDenseAttention(1, dim)
	a.Pack(p, []float32{9, 0, 0, 0, 0, 9, 0, 0}, []float32{1, 1, 1, 1, 2, 2, 2, 2}, dim, 2)
	y := make([]float32, dim)
	a.Run(p, y, dim, []float32{9, 0, 0, 0}, dim, 1, 0.5)
	fmt.Printf("%.3f\n", y)
	// Output:
	// [1.000 1.000 1.000 1.000]
}
