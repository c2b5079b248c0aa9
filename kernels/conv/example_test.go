package conv_test

import (
	"fmt"

	"quern/kernels/conv"
	"quern/kernels/threads"
)

// A filter of three taps over a row of one channel: each step minus the one before the last.
func ExampleConv() {
	p := threads.NewPool(1)
	defer p.Close()
	c := conv.NewConv([]float32{-1, 0, 1}, 1, 3, 1, conv.ConvOptions{Left: 2})
	x := []float32{1, 2, 4, 8, 16}
	y := make([]float32, c.Rows(len(x)))
	c.Run(p, y, x, len(x), false)
	fmt.Println(y)
	// Output:
	// [1 2 3 6 12]
}
