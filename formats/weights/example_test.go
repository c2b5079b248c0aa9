package weights_test

import (
	"fmt"
	"log"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// Readers make a Set; here one is made by hand.
func Example() {
	var s weights.Set
	s.Meta.Set("general.architecture", "llama")
	err := s.Add(&weights.Tensor{Name: "output.weight", Type: quant.F32, Shape: []int{2, 3}, Data: quant.Floats([]float32{1, 2, 3, 4, 5, 6})})
	if err != nil {
		log.Fatal(err)
	}
	t, ok := s.Tensor("output.weight")
	fmt.Println(ok, t.Shape, t.Elems(), t.Size(), s.Meta.String("general.architecture"))
	// Output:
	// true [2 3] 6 24 llama
}
