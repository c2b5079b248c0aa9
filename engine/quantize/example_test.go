package quantize_test

import (
	"fmt"
	"slices"

	"quern/engine/quantize"
)

func ExampleFind() {
	m, err := quantize.Find("q4_k_m")
	fmt.Println(m.Most, err)
	fmt.Println(slices.Contains(quantize.Types(), "Q4_K_M"), quantize.Check("q9") != nil)
	// Output:
	// Q4_K <nil>
	// true true
}
