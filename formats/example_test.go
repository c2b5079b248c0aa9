package formats_test

import (
	"fmt"
	"log"

	"quern/formats"
)

// Open knows a file by how it begins.
func ExampleOpen() {
	set, err := formats.Open("../engine/builtin/quern-tiny.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	t, _ := set.Tensor("token_embd.weight")
	fmt.Println(set.Meta.String("general.architecture"), t.Type, t.Shape)
	// Output:
	// llama Q8_0 [3072 256]
}
