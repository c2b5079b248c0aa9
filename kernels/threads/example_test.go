package threads_test

import (
	"fmt"
	"sync/atomic"

	"quern/kernels/threads"
)

func ExamplePool() {
	p := threads.NewPool(2)
	defer p.Close()
	var sum atomic.Int64
	r := threads.Region{F: func(_, chunk int) { sum.Add(int64(chunk)) }}
	p.Run(10, &r)
	fmt.Println(p.Workers(), sum.Load())
	// Output:
	// 2 45
}
