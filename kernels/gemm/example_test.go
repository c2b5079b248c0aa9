package gemm_test

import (
	"fmt"

	"quern/kernels/gemm"
)

// Two rows times the transpose of a matrix of three rows, and a bias.
func ExampleMultiply() {
	w := gemm.NewPanels(3, 2)
	w.PackRows([]float32{1, 0, 0, 1, 1, 1}, 2)
	y := make([]float32, 6)
	gemm.Multiply(y, 3, []float32{1, 2, 3, 4}, 2, 2, w, []float32{0, 0, 10}, false)
	fmt.Println(y)
	// Output:
	// [1 2 13 3 4 17]
}
