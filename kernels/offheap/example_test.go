package offheap_test

import (
	"fmt"
	"log"

	"quern/kernels/offheap"
)

func ExampleReserve() {
	data, free, err := offheap.Reserve(1 << 20)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(data), data[0])
	fmt.Println(free()) // data must not be used any more
	// Output:
	// 1048576 0
	// <nil>
}
