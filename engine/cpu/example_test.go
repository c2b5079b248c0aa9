package cpu_test

import (
	"context"
	"fmt"
	"log"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// x · wᵀ for two rows, the second of which is read.
func Example() {
	w := &weights.Tensor{Name: "w", Type: quant.F32, Shape: []int{1, 2}, Data: quant.Floats([]float32{1, 10})}
	b := graph.NewBuilder(4, 4)
	p, err := b.Compile(b.Take(b.Linear(b.Features(2), w, nil), b.Wanted()))
	if err != nil {
		log.Fatal(err)
	}
	backend := cpu.Open(2)
	defer backend.Close()
	ctx := context.Background()
	e, err := backend.Compile(ctx, p, graph.Watch{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	out, err := e.Run(ctx, &graph.Batch{Positions: []int32{0, 1}, Seq: []int32{0, 0}, Want: []int32{1}, Features: []float32{1, 2, 3, 4}}, nil)
	fmt.Println(out, err)
	// Output:
	// [[43]] <nil>
}
