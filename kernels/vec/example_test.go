package vec_test

import (
	"fmt"

	"quern/kernels/vec"
)

func ExampleRMSNorm() {
	x := []float32{3, 4, 0, 0}
	vec.RMSNorm(x, x, []float32{1, 1, 1, 1}, 0) // rms 2.5
	fmt.Printf("%.3f\n", x)
	// Output:
	// [1.200 1.600 0.000 0.000]
}

func ExampleSoftmax() {
	x := []float32{1, 1, 1, 1}
	top, sum := vec.Softmax(x)
	fmt.Printf("%.2f %g %.2f\n", x, top, sum)
	// Output:
	// [0.25 0.25 0.25 0.25] 1 4.00
}
