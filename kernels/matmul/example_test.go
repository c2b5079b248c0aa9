package matmul_test

import (
	"fmt"

	"quern/kernels/matmul"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

func ExampleMatMul() {
	p := threads.NewPool(2)
	defer p.Close()
	const in, out = 4, 2
	m := matmul.NewMatMul(quant.F32, quant.Floats([]float32{1, 0, 0, 0, 1, 1, 1, 1}), out, in, []float32{0, 100})
	x := make([]byte, quant.ActBytes(m.With(), in))
	quant.Quantize(x, m.With(), []float32{1, 2, 3, 4}, in)
	y := make([]float32, out)
	m.Run(p, y, x, len(x), 1)
	fmt.Println(y)
	// Output:
	// [1 110]
}
