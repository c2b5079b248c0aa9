package graph_test

import (
	"fmt"
	"log"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A network is recorded and compiled; a backend, as quern/engine/cpu is, runs it.
func ExampleBuilder() {
	w := &weights.Tensor{Name: "w", Type: quant.F32, Shape: []int{1, 2}, Data: quant.Floats([]float32{1, 10})}
	b := graph.NewBuilder(4, 4) // rows of a batch, and of those that are read
	y := b.Linear(b.Features(2), w, nil)
	p, err := b.Compile(b.SoftCap(b.Take(y, b.Wanted()), 30))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range p.Steps {
		fmt.Printf("%T\n", s.Op)
	}
	fmt.Println(p.WeightBytes(), "bytes of weights")
	// Output:
	// graph.Linear
	// graph.Take
	// graph.SoftCap
	// 8 bytes of weights
}
