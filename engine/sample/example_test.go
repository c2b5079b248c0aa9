package sample_test

import (
	"fmt"
	"log"

	"quern/engine/sample"
)

func Example() {
	logits := []float32{1, 3, 2, -1}
	greedy := sample.New(sample.Params{Logprobs: true}, nil, nil)
	t, err := greedy.Next(logits, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %.3f\n", t.ID, t.Logprob)

	// Equal seeds draw equal tokens; token 1 is banned.
	drawn := sample.New(sample.Params{Temperature: 1, TopK: 2, Seed: 7, Bias: map[int32]float32{1: -100}}, nil, nil)
	for range 3 {
		t, err := drawn.Next([]float32{1, 3, 2, -1}, nil)
		fmt.Println(t.ID == 0 || t.ID == 2, err)
	}
	// Output:
	// 1 -0.420
	// true <nil>
	// true <nil>
	// true <nil>
}
