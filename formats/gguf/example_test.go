package gguf_test

import (
	"bytes"
	"fmt"
	"log"

	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

func Example() {
	var meta weights.Meta
	meta.Set("general.architecture", "llama")
	t := &weights.Tensor{Name: "output.weight", Type: quant.F32, Shape: []int{2, 2}, Data: quant.Floats([]float32{1, 2, 3, 4})}
	var file bytes.Buffer
	if err := gguf.Write(&file, &meta, []gguf.Stream{gguf.StreamOf(t)}); err != nil {
		log.Fatal(err)
	}
	set, err := gguf.Parse(file.Bytes()) // gguf.Open maps a file
	if err != nil {
		log.Fatal(err)
	}
	for t := range set.All() {
		fmt.Println(t.Name, t.Type, t.Shape)
	}
	// Output:
	// output.weight F32 [2 2]
}
