package recurrent_test

import (
	"fmt"

	"quern/kernels/recurrent"
	"quern/kernels/threads"
)

// With gates wide open a state of one value adds its inputs up, through tanh.
func ExampleLSTM() {
	p := threads.NewPool(1)
	defer p.Close()
	l := recurrent.NewLSTM(1, 1, recurrent.LSTMWeights{
		In: []float32{0, 0, 1, 0}, Rec: make([]float32, 4), Bias: []float32{20, 20, 0, 20},
	}, nil)
	y := make([]float32, 3)
	l.Run(p, y, []float32{0.1, 0.1, 0.1}, 3)
	fmt.Printf("%.3f\n", y)
	// Output:
	// [0.099 0.197 0.290]
}
