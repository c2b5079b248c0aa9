package dot_test

import (
	"fmt"

	"quern/kernels/dot"
	"quern/kernels/quant"
)

// Rows of weights times one row of activations, in the type that goes with theirs.
func ExampleRows() {
	const n = 4
	w := quant.Floats([]float32{1, 0, 0, 0, 1, 1, 1, 1})
	with := quant.F32.Layout().With
	x := make([]byte, quant.ActBytes(with, n))
	quant.Quantize(x, with, []float32{1, 2, 3, 4}, n)
	y := make([]float32, 2)
	dot.Rows(quant.F32, y, 2, w, 2, n, x, len(x), 1)
	fmt.Println(y)
	// Output:
	// [1 10]
}
