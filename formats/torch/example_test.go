package torch_test

import (
	"fmt"
	"log"

	"quern/formats/torch"
)

// Only data is read of a checkpoint: nothing in it is run.
func ExampleOpen() {
	set, err := torch.Open("testdata/voice_tiny.pt")
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	for t := range set.All() {
		fmt.Printf("%q %v %v\n", t.Name, t.Type, t.Shape)
	}
	// Output:
	// "tensor" F32 [510 1 16]
}
