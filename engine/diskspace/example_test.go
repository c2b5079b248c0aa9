package diskspace_test

import (
	"fmt"

	"quern/engine/diskspace"
)

func ExampleFree() {
	fmt.Println(diskspace.Free(".") != 0, diskspace.Free("no/such/folder"))
	// Output:
	// true -1
}
