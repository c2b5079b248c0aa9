package bandwidth_test

import (
	"fmt"

	"quern/kernels/bandwidth"
)

func ExampleRead() {
	fmt.Println(bandwidth.Read([]byte{1, 2, 0, 0, 0, 0, 0, 0, 2}))
	// Output:
	// 515
}
