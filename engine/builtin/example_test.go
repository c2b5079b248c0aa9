package builtin_test

import (
	"fmt"
	"log"

	"quern/engine/builtin"
	"quern/formats/gguf"
)

func ExampleGGUF() {
	set, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Meta.String("general.architecture"))
	// Output:
	// llama
}
